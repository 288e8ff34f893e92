/** The two ways a sign-in through a provider ends badly; `reason` is for the log and is never shown. */

/** Somebody came back without a proof that holds. Starting again is the only way on. */
export class SignInRefused extends Error {
  override readonly name = 'SignInRefused'
  readonly reason: string

  constructor(reason: string) {
    super('The sign-in was refused')
    this.reason = reason
  }
}

/** The provider cannot be asked now; the same sign-in may succeed later. */
export class SignInUnavailable extends Error {
  override readonly name = 'SignInUnavailable'
  readonly reason: string

  constructor(reason: string) {
    super('The identity provider cannot be reached now')
    this.reason = reason
  }
}
