/** The port to an identity provider: send a person there, and prove who came back. */

/** A person is (issuer, subject). The email is an attribute of that person, never a key to an account. */
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

/** What is kept, bound to the browser, until the person returns. */
export type SignInSecrets = { state: string; nonce: string; codeVerifier: string }

export type SignInProvider = {
  /** Stands in /auth/<name>/callback. */
  readonly name: string
  /** The label of the button. */
  readonly title: string
  /** Who issues what it proves. Undefined: none without a tenant, none with one, or not that of this tenant. */
  issuerOf(tenant: string | undefined): string | undefined
  /** Throws SignInUnavailable. `chooseAccount`: the provider asks even whoever is signed in there. */
  begin(redirectUri: URL, options?: { chooseAccount?: boolean }): Promise<{ url: URL } & SignInSecrets>
  /** Throws SignInRefused, and SignInUnavailable when the provider stopped answering in between. */
  finish(callbackUrl: URL, expected: SignInSecrets & { redirectUri: URL }): Promise<ProvenPerson>
}
