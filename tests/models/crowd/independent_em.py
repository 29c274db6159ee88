"""EM written from the formulas of Dawid and Skene (1979), equations 2.1 to 2.5, with plain loops, for the tests only.

`ANAESTHETISTS` is their Table 1: 45 patients assessed by five anaesthetists on a scale of 1 to 4, the first of them
three times. `PREVALENCE` and `FIRST_OBSERVER` are their estimates, printed to two decimals.
"""

import math

ANAESTHETISTS = (
    "1111111",
    "3334334",
    "1122122",
    "2223121",
    "2223222",
    "2223322",
    "1222111",
    "3333433",
    "2222223",
    "2322223",
    "4444444",
    "2223343",
    "1111111",
    "2223212",
    "1211111",
    "1112111",
    "1111111",
    "1111111",
    "2222221",
    "2221322",
    "2222222",
    "2222221",
    "2223222",
    "2212222",
    "1111111",
    "1111111",
    "2322222",
    "1111111",
    "1111111",
    "1121121",
    "1111111",
    "3333233",
    "1111111",
    "2222222",
    "2223232",
    "4334343",
    "2212232",
    "2323233",
    "3333432",
    "1111111",
    "1111111",
    "1212111",
    "2322222",
    "1211111",
    "2222222",
)
OBSERVERS = (0, 0, 0, 1, 2, 3, 4)
PREVALENCE = (0.40, 0.42, 0.11, 0.07)
FIRST_OBSERVER = (
    (0.89, 0.11, 0.0, 0.0),
    (0.07, 0.88, 0.05, 0.0),
    (0.0, 0.34, 0.66, 0.0),
    (0.0, 0.0, 0.56, 0.44),
)


def dawid_skene(answers, n_classes, rounds=3000):
    """Posteriors, class shares and error rates from lists of (observer, class) per patient."""
    observers = sorted({observer for patient in answers for observer, _ in patient})
    posterior = []
    for patient in answers:
        counts = [sum(1 for _, c in patient if c == k) for k in range(n_classes)]
        posterior.append([count / len(patient) for count in counts])
    for _ in range(rounds):
        share = [sum(row[j] for row in posterior) / len(answers) for j in range(n_classes)]
        errors = {
            o: [_rates(answers, posterior, o, j, n_classes) for j in range(n_classes)] for o in observers
        }
        posterior = [_posterior(patient, share, errors) for patient in answers]
    return posterior, share, errors


def _rates(answers, posterior, observer, true_class, n_classes):
    """Equation 2.3: how often the observer says l when the class is j."""
    totals = [0.0] * n_classes
    for patient, row in zip(answers, posterior, strict=True):
        for o, said in patient:
            if o == observer:
                totals[said] += row[true_class]
    return [total / max(sum(totals), 1e-300) for total in totals]


def _posterior(patient, share, errors):
    """Equation 2.5: Bayes' rule."""
    logs = []
    for j, probability in enumerate(share):
        terms = [probability] + [errors[o][j][said] for o, said in patient]
        logs.append(sum(math.log(max(term, 1e-300)) for term in terms))
    top = max(logs)
    weights = [math.exp(log - top) for log in logs]
    return [weight / sum(weights) for weight in weights]
