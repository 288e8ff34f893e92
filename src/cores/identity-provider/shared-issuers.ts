/** Issuers that many organizations share: without a rule for the tenant, anybody's people would be an organization's. */
type SharedIssuer = {
  readonly host: string
  /** Left out: every path. */
  readonly path?: RegExp
  /** The one claim that tells them apart; left out: any of the closed list. */
  readonly claim?: string
}

const SHARED_ISSUERS: readonly SharedIssuer[] = [
  { host: 'accounts.google.com', claim: 'hd' },
  // With the id of a tenant in its path an issuer of Entra is that tenant's own; this id is that of personal accounts.
  {
    host: 'login.microsoftonline.com',
    path: /^\/(common|organizations|consumers|9188040d-6c67-4c5b-b112-36a304b66dad|\{tenantid\})?(\/|$)/i,
    claim: 'tid',
  },
  { host: 'login.live.com' },
  { host: 'appleid.apple.com' },
  { host: 'github.com' },
  { host: 'token.actions.githubusercontent.com' },
  { host: 'gitlab.com' },
  { host: 'bitbucket.org' },
  { host: 'id.atlassian.com' },
  { host: 'auth.atlassian.com' },
  { host: 'slack.com' },
  { host: 'login.salesforce.com' },
  { host: 'www.linkedin.com' },
  { host: 'www.facebook.com' },
  { host: 'api.login.yahoo.com' },
  { host: 'id.twitch.tv' },
  { host: 'discord.com' },
  { host: 'idp.xaa.dev' },
]

export const findSharedIssuer = (issuer: string): SharedIssuer | undefined => {
  const { hostname, pathname } = new URL(issuer)
  return SHARED_ISSUERS.find(({ host, path }) => host === hostname && (path?.test(pathname) ?? true))
}
