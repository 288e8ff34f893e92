/**
 * Asks the cluster whose token it is, once for all calls that wait for the same answer, and remembers the answer for
 * seconds. Only what the cluster says is remembered: binding, organization and limits are read on every call.
 */
import { ClusterForbidden, ClusterUnavailable } from '../../contracts/cluster-errors.ts'
import { TOKEN_REVIEW_SECONDS, TOKEN_REVIEWS } from '../../contracts/limits.ts'
import { serviceAccountTokenKey } from '../../trust/service-account-token.ts'
import type { Clock } from '../dependencies.ts'
import type { Cluster, ServiceAccount } from './cluster-port.ts'
import { createOpenQuestions } from './open-questions.ts'
import { reviewedAccount, type ReviewedAccount } from './reviewed-account.ts'

export type Review = {
  /** Undefined: the cluster does not vouch for it. */
  readonly account: ReviewedAccount | undefined
  /** The cluster was asked for this very call. */
  readonly isFresh: boolean
}

/** What the operator is told about this process. */
export type ClusterStatus = {
  readonly answeredAt: Date | null
  readonly problem: ClusterProblem | null
}

type ClusterProblem = {
  readonly reason: string
  readonly since: Date
  /** Pods are not let in; or they are, and no further service account can be bound. */
  readonly stops: 'workers' | 'binding'
}

/** What a token may cost that was never accepted: taken before the cluster is asked, given back unless it is refused. */
export type Allowance = { take(): Promise<void>; giveBack(): Promise<void> }

export type TokenReviews = {
  readonly audience: string
  readonly address: string
  /** `orgId`: the organization it is about, of which at most so many are asked at once. */
  review(token: string, about: { orgId: string; expiresAt: Date; newcomers: Allowance }): Promise<Review>
  findServiceAccount(orgId: string, namespace: string, name: string): Promise<ServiceAccount | undefined>
  status(): ClusterStatus
  /** Asks whether it may ask, if nobody did for a minute; the answers are in the next `status`. */
  checkPermission(namespace: string | undefined): void
}

type ReviewDeps = {
  readonly cluster: Cluster
  readonly audience: string
  readonly clock: Clock
  readonly log: { error(event: string, fields?: Record<string, unknown>): void }
}

type Question = 'review' | 'account'
type Accepted = { readonly account: ReviewedAccount; readonly until: number }

const CHECK_EVERY_MS = 60_000
/** The same problem is logged again after so long: a worker calls every second. */
const LOG_EVERY_MS = 60_000
/** Any text is refused as a token, and shows that the question is allowed. */
const NO_TOKEN = 'permission-check'
/** Every namespace has one of this name; and that there is none would be an answer too. */
const ANY_ACCOUNT = 'default'

export const PROBLEM_TEXTS = {
  workers: 'workload identity does not work',
  binding: 'service accounts cannot be bound',
} as const satisfies Record<ClusterProblem['stops'], string>

export function createTokenReviews({ cluster, audience, clock, log }: ReviewDeps): TokenReviews {
  /** Also after the answer is too old to count: these tokens are no newcomers. */
  const accepted = new Map<string, Accepted>()
  /** Until when. Apart from the others: whoever shows forged tokens makes nobody's answer forgotten. */
  const refused = new Map<string, number>()
  const open = new Map<string, Promise<ReviewedAccount | undefined>>()
  const withinLimits = createOpenQuestions()
  /** That it cannot be reached concerns both questions; that one is allowed says nothing about the other. */
  const problems = new Map<'reach' | Question, ClusterProblem>()
  const loggedAt = new Map<string, number>()
  const askedAt = new Map<Question, number>()
  let answeredAt: Date | null = null

  async function ask<T>(question: Question, work: () => Promise<T>): Promise<T> {
    askedAt.set(question, clock().getTime())
    try {
      const answer = await work()
      answeredAt = clock()
      problems.delete('reach')
      problems.delete(question)
      return answer
    } catch (error) {
      if (error instanceof ClusterUnavailable) noteProblem('reach', error)
      if (error instanceof ClusterForbidden) {
        problems.delete('reach')
        noteProblem(question, error)
      }
      throw error
    }
  }

  function noteProblem(
    about: 'reach' | Question,
    { reason, cause }: ClusterForbidden | ClusterUnavailable,
  ): void {
    const now = clock()
    const known = problems.get(about)
    const stops = about === 'account' ? 'binding' : 'workers'
    problems.set(about, { reason, stops, since: known?.reason === reason ? known.since : now })
    // By reason: two that alternate are not news either.
    if (now.getTime() - (loggedAt.get(reason) ?? Number.NEGATIVE_INFINITY) < LOG_EVERY_MS) return
    loggedAt.set(reason, now.getTime())
    log.error(PROBLEM_TEXTS[stops], { reason, error: cause })
  }

  function check(question: Question, work: () => Promise<unknown>): void {
    if (clock().getTime() - (askedAt.get(question) ?? Number.NEGATIVE_INFINITY) < CHECK_EVERY_MS) return
    // What is wrong is in the status by then.
    void ask(question, work).catch(() => undefined)
  }

  function remember(key: string, account: ReviewedAccount | undefined, expiresAt: Date): void {
    const now = clock().getTime()
    accepted.delete(key)
    refused.delete(key)
    if (account === undefined) {
      setNewest(refused, key, now + TOKEN_REVIEW_SECONDS.refused * 1000)
    } else {
      const until = Math.min(now + TOKEN_REVIEW_SECONDS.accepted * 1000, expiresAt.getTime())
      setNewest(accepted, key, { account, until })
    }
  }

  const askAbout = (token: string, orgId: string, kind: 'acceptedBefore' | 'newcomer') =>
    withinLimits(kind, orgId, () =>
      ask('review', async () => reviewedAccount(await cluster.reviewToken(token, audience), audience)),
    )

  return {
    audience,
    address: cluster.address,
    async review(token, { orgId, expiresAt, newcomers }) {
      const key = serviceAccountTokenKey(token)
      const now = clock().getTime()
      const known = accepted.get(key)
      if (expiresAt.getTime() <= now) return { account: undefined, isFresh: false }
      if (known && known.until > now) return { account: known.account, isFresh: false }
      if ((refused.get(key) ?? 0) > now) return { account: undefined, isFresh: false }
      const waiting = open.get(key)
      if (waiting) return { account: await waiting, isFresh: false }
      const asked = (
        known
          ? askAbout(token, orgId, 'acceptedBefore')
          : unlessRefused(newcomers, () => askAbout(token, orgId, 'newcomer'))
      ).then((account) => {
        remember(key, account, expiresAt)
        return account
      })
      open.set(key, asked)
      try {
        return { account: await asked, isFresh: true }
      } finally {
        open.delete(key)
      }
    },
    findServiceAccount: (orgId, namespace, name) =>
      withinLimits('account', orgId, () => ask('account', () => cluster.findServiceAccount(namespace, name))),
    status: () => ({
      answeredAt,
      problem: problems.get('reach') ?? problems.get('review') ?? problems.get('account') ?? null,
    }),
    checkPermission(namespace) {
      check('review', () => cluster.reviewToken(NO_TOKEN, audience))
      if (namespace !== undefined) check('account', () => cluster.findServiceAccount(namespace, ANY_ACCOUNT))
    },
  }
}

/** Taken first, so that many at once do not slip through. An answer that does not come is nobody's fault. */
async function unlessRefused<T>(allowance: Allowance, ask: () => Promise<T | undefined>) {
  await allowance.take()
  let isRefused = false
  try {
    const answer = await ask()
    isRefused = answer === undefined
    return answer
  } finally {
    if (!isRefused) await allowance.giveBack()
  }
}

/** The oldest goes, in the order in which they came. */
function setNewest<Value>(map: Map<string, Value>, key: string, value: Value): void {
  const [oldest] = map.keys()
  if (map.size >= TOKEN_REVIEWS.remembered && oldest !== undefined) map.delete(oldest)
  map.set(key, value)
}
