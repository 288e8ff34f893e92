/**
 * Credentials that were refused a moment ago. Whoever the auth service told to wait is refused until then without asking it
 * again; the more calls of a credential are refused, the longer each is told to wait, so that they do not all come back at
 * once; and only the first ones are recorded. A flood must cost less than the calls it stands for.
 */

/** Refusals that are recorded, and refusals for each further second of waiting. */
const STEP = 16

const WAIT_MAX_SECONDS = 60

type Refused = { refusals: number; pausedUntil: number; forgottenAt: number }

export function refusedCredentials(clock: () => Date) {
  const credentials = new Map<string, Refused>()

  /** How long the credential still has to wait as the auth service told it; 0 when it has not. */
  const pausedSeconds = (key: string): number =>
    Math.max(0, Math.ceil(((credentials.get(key)?.pausedUntil ?? 0) - clock().getTime()) / 1000))

  /** Counts a refused call of a credential that is over a limit for so long. */
  function refuse(key: string, seconds: number, isPause: boolean): { waitSeconds: number; isFlood: boolean } {
    const now = clock().getTime()
    for (const [old, { forgottenAt }] of credentials) if (forgottenAt <= now) credentials.delete(old)
    const credential = credentials.get(key) ?? { refusals: 0, pausedUntil: 0, forgottenAt: 0 }
    credentials.set(key, credential)
    // Never shorter than the limit itself lasts: whoever comes back earlier would be refused again.
    const waitSeconds = Math.max(
      seconds,
      Math.min(WAIT_MAX_SECONDS, seconds + Math.floor(credential.refusals / STEP)),
    )
    credential.refusals += 1
    credential.forgottenAt = Math.max(credential.forgottenAt, now + waitSeconds * 1000)
    if (isPause) credential.pausedUntil = Math.max(credential.pausedUntil, now + seconds * 1000)
    return { waitSeconds, isFlood: credential.refusals > STEP }
  }

  return { pausedSeconds, refuse }
}
