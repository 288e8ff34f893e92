/**
 * Credentials that were refused a moment ago. Whoever was told to wait, or that nobody knows their credential, is refused until
 * then without asking again; the more calls of a credential are refused, the longer each is told to wait, so that they do not
 * all come back at once; and only the first ones are recorded. A flood must cost less than the calls it stands for.
 */

/** Refusals that are recorded, and refusals for each further second of waiting. */
const STEP = 16

const WAIT_MAX_SECONDS = 60

/** Whoever calls makes them up. */
const CREDENTIALS_MAX = 10_000

type Refused = { refusals: number; pausedUntil: number; forgottenAt: number }

export function refusedCredentials(now: () => number = () => performance.now()) {
  const credentials = new Map<string, Refused>()

  /** How long the credential still has to wait as it was told; 0 when it has not. */
  const pausedSeconds = (key: string): number =>
    Math.max(0, Math.ceil(((credentials.get(key)?.pausedUntil ?? 0) - now()) / 1000))

  /** The oldest first: as many steps as there were refusals, however many are remembered. */
  function forgetOld(): void {
    for (const [key, { forgottenAt }] of credentials) {
      if (forgottenAt > now() && credentials.size <= CREDENTIALS_MAX) return
      credentials.delete(key)
    }
  }

  /** Counts a refused call of a credential that is over a limit for so long. */
  function refuse(key: string, seconds: number, isPause: boolean): { waitSeconds: number; isFlood: boolean } {
    const at = now()
    const known = credentials.get(key)
    const credential =
      known && known.forgottenAt > at ? known : { refusals: 0, pausedUntil: 0, forgottenAt: 0 }
    // Never shorter than the limit itself lasts: whoever comes back earlier would be refused again.
    const waitSeconds = Math.max(
      seconds,
      Math.min(WAIT_MAX_SECONDS, seconds + Math.floor(credential.refusals / STEP)),
    )
    credential.refusals += 1
    credential.forgottenAt = Math.max(credential.forgottenAt, at + waitSeconds * 1000)
    if (isPause) credential.pausedUntil = Math.max(credential.pausedUntil, at + seconds * 1000)
    credentials.delete(key)
    credentials.set(key, credential)
    forgetOld()
    return { waitSeconds, isFlood: credential.refusals > STEP }
  }

  return { pausedSeconds, refuse }
}
