/** Checks that fail now: they confirm an error that the log shows, or are a finding by themselves. */
import { sentences, since } from './describe-finding.ts'
import { beganWithDeployment, failingChecks, HOUR_MS, timeOf, type Finding, type Picture } from './picture.ts'
import type { Check } from './reader.ts'

/** A check notices later than the log; the log may have begun a little later. */
const TOGETHER_MS = HOUR_MS

/** Adds what fails now to the findings that explain it; what nothing explains is added as a finding of its own. */
export function withFailingChecks(picture: Picture, findings: readonly Finding[]): Finding[] {
  const failing = failingChecks(picture)
  const explained = findings.map((finding) => {
    const confirmed = failing.filter((check) => isExplainedBy(check, finding))
    if (confirmed.length === 0) return finding
    return {
      ...finding,
      weight: finding.weight + 10,
      evidence: [...finding.evidence, ...confirmed.slice(0, 3).map(({ runs }) => runs[0]!.ref)],
      summary: sentences(
        finding.summary,
        confirmed.length === 1
          ? 'A check has failed since then.'
          : `${confirmed.length} checks have failed since then.`,
      ),
    }
  })
  const rest = failing.filter((check) => !findings.some((finding) => isExplainedBy(check, finding)))
  return [...explained, ...rest.map((check) => checkFinding(picture, check))]
}

const isExplainedBy = ({ state_since }: Check, { since: first }: Finding): boolean =>
  state_since === null || timeOf(state_since) >= first - TOGETHER_MS

function checkFinding(picture: Picture, { kind, state_since, runs }: Check): Finding {
  const began = state_since ?? runs.at(-1)!.at
  const deployment = beganWithDeployment(picture, timeOf(began))
  return {
    kind: 'availability',
    place: null,
    weight: 15,
    since: timeOf(began),
    evidence: [runs[0]!.ref, ...(deployment ? [deployment.ref] : [])],
    summary: sentences(
      `A check of the kind ${kind} has failed ${since(began)}, and no error in the log explains it.`,
      deployment ? `It began with deployment ${deployment.id}.` : '',
    ),
  }
}
