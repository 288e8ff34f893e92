/** The operator in a browser: a short-lived cookie instead of the token itself. */
import { getCookie, setCookie } from 'hono/cookie'
import { OPERATOR_PAGE_SECONDS, OPERATOR_TOKEN_FAILURES_PER_ADDRESS } from '../src/contracts/limits.ts'
import { networkOf } from '../src/contracts/network-of.ts'
import { refundThrottle, throttle } from '../src/cores/throttle.ts'
import type { HttpContext } from '../src/http/context.ts'
import { keyedHash, sameSecret, sha256 } from '../src/trust/keyed-hash.ts'
import { browserIdOf } from './browser-session.ts'
import type { AuthDeps } from './dependencies.ts'

const nameFor = ({ pagesUrl }: AuthDeps): string =>
  pagesUrl.protocol === 'https:' ? '__Secure-svc_operator' : 'svc_operator'

/** Bound to the browser and to the token of this moment: another token, or rotated secrets, and it is void. */
const signature = (deps: AuthDeps, c: HttpContext, until: string): string =>
  keyedHash(
    deps.keyFor('operator-page'),
    JSON.stringify([until, browserIdOf(deps, c), sha256(deps.operatorToken ?? '')]),
  )

/** False, and counted, for a wrong token. */
export async function startOperatorSession(deps: AuthDeps, c: HttpContext, given: string): Promise<boolean> {
  const { operatorToken } = deps
  if (operatorToken === undefined) return false
  const key = `operator-page:${networkOf(c.get('address'))}`
  await throttle(deps, key, OPERATOR_TOKEN_FAILURES_PER_ADDRESS)
  if (!sameSecret(given, operatorToken)) return false
  await refundThrottle(deps, key, OPERATOR_TOKEN_FAILURES_PER_ADDRESS)
  const until = String(deps.clock().getTime() + OPERATOR_PAGE_SECONDS * 1000)
  setCookie(c, nameFor(deps), `${until}.${signature(deps, c, until)}`, {
    path: '/auth/operator',
    httpOnly: true,
    sameSite: 'Strict',
    secure: deps.pagesUrl.protocol === 'https:',
    maxAge: OPERATOR_PAGE_SECONDS,
  })
  return true
}

export function isOperator(deps: AuthDeps, c: HttpContext): boolean {
  const [until = '', given = ''] = (getCookie(c, nameFor(deps)) ?? '').split('.')
  if (deps.operatorToken === undefined || !(Number(until) > deps.clock().getTime())) return false
  return sameSecret(signature(deps, c, until), given)
}
