/** Sign-ins on their way through an identity provider, bound to the browser that started them. */
import { and, eq, gt } from '../../../db/drizzle.ts'
import { signInAttempts } from '../../../db/schema.ts'
import { SIGN_IN_ATTEMPT_SECONDS } from '../../contracts/limits.ts'
import { keyedHash } from '../../trust/keyed-hash.ts'
import type { Keys, Storage } from '../dependencies.ts'
import type { SignInSecrets } from './sign-in-provider.ts'

type SignInAttempt = SignInSecrets & {
  provider: string
  returnTo: string
  /** The cookie of the browser that starts it. */
  browser: string
}

const stateHash = (deps: Keys, value: string) => keyedHash(deps.keyFor('sign-in-state'), value)

export async function saveSignInAttempt(deps: Storage & Keys, attempt: SignInAttempt): Promise<void> {
  await deps.db.insert(signInAttempts).values({
    stateHash: stateHash(deps, attempt.state),
    provider: attempt.provider,
    browserHash: stateHash(deps, attempt.browser),
    nonce: attempt.nonce,
    codeVerifier: attempt.codeVerifier,
    returnTo: attempt.returnTo,
    expiresAt: new Date(deps.clock().getTime() + SIGN_IN_ATTEMPT_SECONDS * 1000),
  })
}

/** Works once: a replayed state, another browser, another provider or a late return all find nothing. */
export async function consumeSignInAttempt(
  deps: Storage & Keys,
  returned: { provider: string; state: string; browser: string },
): Promise<{ nonce: string; codeVerifier: string; returnTo: string } | undefined> {
  const [row] = await deps.db
    .delete(signInAttempts)
    .where(
      and(
        eq(signInAttempts.stateHash, stateHash(deps, returned.state)),
        eq(signInAttempts.browserHash, stateHash(deps, returned.browser)),
        eq(signInAttempts.provider, returned.provider),
        gt(signInAttempts.expiresAt, deps.clock()),
      ),
    )
    .returning()
  return row
}
