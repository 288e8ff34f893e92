/**
 * At refresh, the scopes asked are intersected with those of the token. RFC 6749, 6 allows an error instead, which the
 * library chooses; Codex repeats `offline_access` there and would lose its connection at the first expiry.
 */
import Provider from 'oidc-provider'

type TokenModel = {
  find(value: string, options?: object): Promise<{ readonly scopes: ReadonlySet<string> } | undefined>
}

/** The library checks the parameter against the token it has just found: between the two is the only place for this. */
export function intersectRefreshScopes(provider: Provider): void {
  const model = provider.RefreshToken as TokenModel
  const find = model.find.bind(model)
  model.find = async (...args) => {
    const token = await find(...args)
    const { route, params } = Provider.ctx?.oidc ?? {}
    if (token && route === 'token' && params) params.scope = intersect(params.scope, token.scopes)
    return token
  }
}

/** Undefined means all of them. What was never granted is left as it is asked: the library answers `invalid_scope`. */
function intersect(asked: unknown, granted: ReadonlySet<string>): string | undefined {
  if (typeof asked !== 'string') return undefined
  const wanted = asked.split(' ').filter((scope) => scope !== '')
  const left = wanted.filter((scope) => granted.has(scope))
  if (left.length > 0) return left.join(' ')
  return wanted.every((scope) => scope === 'offline_access') ? undefined : asked
}
