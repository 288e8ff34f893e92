/** How a sign-in through a provider can fail; `reason` is for the log and is never shown. */

/** The answer of the provider is not valid. The person has to start again. */
export class SignInRefused extends Error {
  override readonly name = 'SignInRefused'
  readonly reason: string

  constructor(reason: string) {
    super('The sign-in was refused')
    this.reason = reason
  }
}

/** The provider cannot be reached; the same sign-in may succeed later. */
export class SignInUnavailable extends Error {
  override readonly name = 'SignInUnavailable'
  readonly reason: string

  constructor(reason: string) {
    super('The identity provider cannot be reached now')
    this.reason = reason
  }
}
