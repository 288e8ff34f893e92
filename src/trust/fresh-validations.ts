/**
 * What the auth service of this process answered a moment ago, known by the identity of the answer. Whoever holds that very
 * object has been in this process when it was answered: nothing that came over a wire is the same object, however alike it
 * looks. So a tool call, and a page, reads once whether its credential is live, and not again for each call behind it.
 */
import { CREDENTIAL_KINDS } from '../contracts/credential-kinds.ts'
import { ACTOR_ASSERTION_SECONDS } from '../contracts/limits.ts'
import type { Scope } from '../contracts/scopes.ts'
import type * as z from 'zod'
import type { ValidatedToken } from '../contracts/tokens.ts'

type Validation = z.output<typeof ValidatedToken>

/** Longer than the calls behind a prompt tool call take. After it, the auth service is asked again. */
const FRESH_MS = CREDENTIAL_KINDS.assertion.rememberedSeconds * 1000

const answers = new WeakMap<object, { readonly token: string; readonly answeredAt: number }>()

/** Only for the auth service, about its own answer. It cannot be changed any more. */
export function rememberAnswer<Answer extends Validation>(
  answer: Answer,
  token: string,
  answeredAt = performance.now(),
): Answer {
  freeze(answer)
  answers.set(answer, { token, answeredAt })
  return answer
}

/** The answer itself when it is one about this token, and fresh. */
export function freshAnswer(
  given: object | undefined,
  token: string,
  now = performance.now(),
): Validation | undefined {
  const known = given && answers.get(given)
  if (!known || known.token !== token || now - known.answeredAt >= FRESH_MS) return undefined
  const answer = given as Validation
  return answer.retry_after_seconds === undefined ? answer : undefined
}

/** The same for a call that names its organization: about any but the answer's own, the answer would be another one. */
export function freshAnswerIn(
  given: object | undefined,
  token: string,
  organization: string | undefined,
): Validation | undefined {
  const answer = freshAnswer(given, token)
  return organization === undefined || answer?.organization?.id === organization ? answer : undefined
}

/**
 * The answer about an API token, as the auth service would give it about an assertion that the MCP server made from it: for
 * no more scopes, and no longer fresh than the original. Undefined when that came over a wire.
 */
export function answerForAssertion(
  given: Validation,
  {
    token,
    assertion,
    scopes,
    now,
  }: { token: string; assertion: string; scopes: readonly Scope[]; now: Date },
): Validation | undefined {
  const known = answers.get(given)
  if (known?.token !== token) return undefined
  const answer: Validation = {
    ...given,
    kind: 'actor',
    scopes: scopes.filter((scope) => given.scopes?.includes(scope) ?? true),
    audiences: ['api'],
    expires_at: new Date(now.getTime() + ACTOR_ASSERTION_SECONDS * 1000).toISOString(),
  }
  return rememberAnswer(answer, assertion, known.answeredAt)
}

function freeze(value: object): void {
  Object.freeze(value)
  for (const inner of Object.values(value) as unknown[]) {
    if (typeof inner === 'object' && inner !== null && !Object.isFrozen(inner)) freeze(inner)
  }
}
