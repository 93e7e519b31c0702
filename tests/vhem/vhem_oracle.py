"""A second VHEM in plain NumPy, from the formulas alone: tests and benchmarks compare with it.

It takes all pairs at once (one matrix product, then logsumexp over whole arrays), keeps every
phi, and shares no code with the library but the container. ``enumerate_bound`` is a third
version for tiny models: it sums over all pairs of state sequences.
"""

import itertools
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from vhem import H3M


class EStep(NamedTuple):
    objective: float
    z: np.ndarray  # (Kb, Kr)
    L_hmm: np.ndarray  # (Kb, Kr)
    L_gmm: np.ndarray  # (Kb, Kr, Sb, Sr)
    eta: np.ndarray  # (Kb, Sb, Mb, Kr, Sr, Mr)
    nu1: np.ndarray  # (Kb, Kr, Sr)
    nu: np.ndarray  # (Kb, Kr, Sr, Sb)
    xi: np.ndarray  # (Kb, Kr, Sr, Sr)


def log(probabilities):
    with np.errstate(divide="ignore"):
        return np.log(probabilities)


def expected_log_gaussians(base, reduced):
    """E_p[log N_q], shape (P, Q)."""
    d = base.n_features
    m_p, m_q = base.means.reshape(-1, d), reduced.means.reshape(-1, d)
    if reduced.covariance_type == "diag":
        v_p = base.covars
        if base.covariance_type == "full":
            v_p = np.diagonal(v_p, axis1=-2, axis2=-1)
        v_p, v_q = v_p.reshape(-1, d), reduced.covars.reshape(-1, d)
        constant = -0.5 * (np.log(2 * np.pi * v_q) + m_q**2 / v_q).sum(1)
        left = np.hstack([v_p + m_p**2, m_p])
        return left @ np.hstack([-0.5 / v_q, m_q / v_q]).T + constant
    v_p = base.covars
    if base.covariance_type == "diag":
        v_p = v_p[..., None] * np.eye(d)
    v_p, v_q = v_p.reshape(-1, d, d), reduced.covars.reshape(-1, d, d)
    precision = np.linalg.inv(v_q)
    linear = (precision @ m_q[..., None])[..., 0]
    constant = -0.5 * (d * np.log(2 * np.pi) + np.linalg.slogdet(v_q)[1] + (linear * m_q).sum(1))
    second = (v_p + m_p[:, :, None] * m_p[:, None, :]).reshape(len(v_p), -1)
    quadratic = second @ precision.reshape(len(v_q), -1).T
    return -0.5 * quadratic + m_p @ linear.T + constant


def logsumexp_and_shares(x, axis):
    top = x.max(axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    shares = np.exp(x - top)
    total = shares.sum(axis, keepdims=True)
    shares /= total
    return np.squeeze(log(total) + top, axis), shares


def e_step(base, reduced, N, tau):
    Kb, Sb, Mb = base.mixture_weights.shape
    Kr, Sr, Mr = reduced.mixture_weights.shape
    terms = expected_log_gaussians(base, reduced) + log(reduced.mixture_weights).ravel()
    log_sums, eta = logsumexp_and_shares(terms.reshape(Kb, Sb, Mb, Kr, Sr, Mr), -1)
    L_gmm = np.einsum("ibm,ibmjr->ijbr", base.mixture_weights, log_sums)

    log_A, log_pi = log(reduced.transmat), log(reduced.startprob)
    V = np.zeros((Kb, Kr, Sb, Sr))
    phis = []
    for _ in range(tau - 1):
        x = log_A[None, :, None] + (L_gmm + V)[:, :, :, None, :]
        s, phi = logsumexp_and_shares(x, -1)  # (i, j, beta, rho') and (..., rho)
        phis.append(phi)
        V = base.transmat[:, None] @ s.reshape(Kb, Kr, Sb, Sr)
    s, phi = logsumexp_and_shares(log_pi[None, :, None] + L_gmm + V, -1)
    L_hmm = np.einsum("ib,ijb->ij", base.startprob, s)

    nu = base.startprob[:, None, :, None] * phi  # (i, j, beta, rho)
    nu1, nu_sum, xi = nu.sum(2), nu.copy(), np.zeros((Kb, Kr, Sr, Sr))
    A_transposed = np.swapaxes(base.transmat, 1, 2)[:, None]
    for phi in reversed(phis):
        joint = (A_transposed @ nu)[..., None] * phi
        xi += joint.sum(2)
        nu = joint.sum(3)
        nu_sum += nu
    with np.errstate(divide="ignore"):
        joint = np.log(reduced.weights) + N * base.weights[:, None] * L_hmm
    evidence = logsumexp(joint, axis=1)
    z = np.exp(joint - evidence[:, None])
    objective = evidence[base.weights > 0].sum()
    return EStep(objective, z, L_hmm, L_gmm, eta, nu1, np.swapaxes(nu_sum, 2, 3), xi)


def m_step(base, reduced, e):
    """The maximiser when every count is positive (but transitions, if tau = 1)."""
    d = base.n_features
    g = e.z * base.weights[:, None]
    weights = e.z[base.weights > 0].mean(0)
    start = np.einsum("ij,ijr->jr", g, e.nu1)
    transitions = np.einsum("ij,ijqr->jqr", g, e.xi)
    nu = g[:, :, None, None] * e.nu
    R = np.einsum("ijrb,ibm->ibmjr", nu, base.mixture_weights)[..., None] * e.eta
    R = R.reshape(base.mixture_weights.size, -1)
    W = R.sum(0)
    m_p = base.means.reshape(-1, d)
    means = (R.T @ m_p) / W[:, None]
    if reduced.covariance_type == "diag":
        v_p = base.covars
        if base.covariance_type == "full":
            v_p = np.diagonal(v_p, axis1=-2, axis2=-1)
        covars = (R.T @ (v_p.reshape(-1, d) + m_p**2)) / W[:, None] - means**2
    else:
        v_p = base.covars
        if base.covariance_type == "diag":
            v_p = v_p[..., None] * np.eye(d)
        second = v_p.reshape(-1, d, d) + m_p[:, :, None] * m_p[:, None, :]
        covars = (R.T @ second.reshape(len(m_p), -1)).reshape(-1, d, d) / W[:, None, None]
        covars -= means[:, :, None] * means[:, None, :]
        covars = 0.5 * (covars + np.swapaxes(covars, 1, 2))
    mixture_weights = W.reshape(reduced.mixture_weights.shape)
    return H3M(
        weights,
        start / start.sum(-1, keepdims=True),
        transitions / transitions.sum(-1, keepdims=True) if e.xi.any() else reduced.transmat,
        mixture_weights / mixture_weights.sum(-1, keepdims=True),
        means.reshape(reduced.means.shape),
        covars.reshape(reduced.covars.shape),
    )


def fixed_objective(base, reduced, N, e, tau):
    """The bound as a function of the reduced model with z, phi and eta held fixed.

    Up to the entropies of the three distributions, which do not depend on the model.
    """
    g = N * base.weights[:, None] * e.z
    present = base.weights > 0
    value = (e.z[present] * log(reduced.weights)).sum()
    value += np.einsum("ij,ijr,jr->", g, e.nu1, log(reduced.startprob))
    value += np.einsum("ij,ijqr,jqr->", g, e.xi, log(reduced.transmat))
    terms = expected_log_gaussians(base, reduced) + log(reduced.mixture_weights).ravel()
    terms = terms.reshape(e.eta.shape)
    return value + np.einsum(
        "ij,ijrb,ibm,ibmjrl,ibmjrl->", g, e.nu, base.mixture_weights, e.eta, terms, optimize=True
    )


def path_probability(startprob, transmat, path):
    steps = (transmat[a, b] for a, b in itertools.pairwise(path))
    return startprob[path[0]] * np.prod(list(steps))


def policy_value(pi_b, A_b, pi_r, A_r, L, policy_first, policies):
    """The bound of Equation 12 for a given phi, by summing over all pairs of state sequences.

    ``policy_first[beta, rho]`` is phi_1, ``policies[t][beta, rho', rho]`` are phi_2, phi_3, ...
    Returns the value and the statistics nu1, nu, xi under phi.
    """
    Sb, Sr = L.shape
    tau = len(policies) + 1
    value, nu1, nu, xi = 0.0, np.zeros(Sr), np.zeros((Sr, Sb)), np.zeros((Sr, Sr))
    for beta in itertools.product(range(Sb), repeat=tau):
        p_beta = path_probability(pi_b, A_b, beta)
        for rho in itertools.product(range(Sr), repeat=tau):
            q = policy_first[beta[0], rho[0]]
            for t in range(1, tau):
                q *= policies[t - 1][beta[t], rho[t - 1], rho[t]]
            if p_beta * q == 0:
                continue
            gain = log(path_probability(pi_r, A_r, rho)) - np.log(q)
            gain += sum(L[b, r] for b, r in zip(beta, rho, strict=True))
            value += p_beta * q * gain
            nu1[rho[0]] += p_beta * q
            for t, (b, r) in enumerate(zip(beta, rho, strict=True)):
                nu[r, b] += p_beta * q
                if t:
                    xi[rho[t - 1], r] += p_beta * q
    return value, nu1, nu, xi


def optimal_policy(A_b, pi_r, A_r, L, tau):
    """phi of the backward recursion, written as loops (Appendix B of the JMLR paper)."""
    Sb, Sr = L.shape
    V = np.zeros((Sb, Sr))
    policies = []
    for _ in range(tau - 1):
        s, policy = np.empty((Sb, Sr)), np.empty((Sb, Sr, Sr))
        for b in range(Sb):
            for q in range(Sr):
                x = log(A_r[q]) + L[b] + V[b]
                s[b, q] = logsumexp(x)
                policy[b, q] = np.exp(x - s[b, q])
        policies.append(policy)
        V = A_b @ s
    x = log(pi_r) + L + V
    return np.exp(x - logsumexp(x, axis=1, keepdims=True)), policies[::-1]


def unrestricted_bound(pi_b, A_b, pi_r, A_r, L, tau):
    """Equation 12 with a free q for every base state sequence: above L_HMM."""
    Sb, Sr = L.shape
    value = 0.0
    for beta in itertools.product(range(Sb), repeat=tau):
        terms = [
            log(path_probability(pi_r, A_r, rho))
            + sum(L[b, r] for b, r in zip(beta, rho, strict=True))
            for rho in itertools.product(range(Sr), repeat=tau)
        ]
        value += path_probability(pi_b, A_b, beta) * logsumexp(terms)
    return value
