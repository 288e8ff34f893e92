/** What the house asks of an identity provider: send a person out, and prove who came back. */

/** A person is (issuer, subject). The e-mail is an attribute of that person, never a key to an account. */
export type ProvenPerson = {
  readonly provider: string
  /** At Microsoft issuer and subject stand for (tid, oid). */
  readonly issuer: string
  readonly subject: string
  readonly email: string | null
  /** True only where the provider answers for the address itself; everything else needs a link we sent. */
  readonly emailVerified: boolean
  readonly name: string | null
}

/** What must be kept, bound to the browser, between the way out and the way back. */
export type SignInSecrets = { state: string; nonce: string; codeVerifier: string }

export type SignInProvider = {
  /** Stands in /auth/<name>/callback. */
  readonly name: string
  /** The button's words. */
  readonly title: string
  /** Throws SignInUnavailable. */
  begin(redirectUri: URL): Promise<{ url: URL } & SignInSecrets>
  /** Throws SignInRefused, and SignInUnavailable when the provider fell silent in between. */
  finish(callbackUrl: URL, expected: SignInSecrets & { redirectUri: URL }): Promise<ProvenPerson>
}
