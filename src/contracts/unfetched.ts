/**
 * Why a document of somebody else's could not be fetched, in a few words of ours. Whoever steers the address learns nothing
 * of our network from them: a name without an address and one with a private address are the same.
 */
const WHY = [
  [/\bCERT|SSL|TLS|SELF_SIGNED|VERIFY|ISSUER/i, 'its certificate is not valid'],
  [/no address|not public|ENOTFOUND|EAI_|ENODATA|^not |port/, 'its name has no public address'],
  [/redirect/, 'it answered with a redirect'],
  [/too large/, 'it is too large'],
] as const

export function whyUnfetched(error: unknown): string {
  const { reason } = error as { reason?: unknown }
  const found = typeof reason === 'string' && WHY.find(([pattern]) => pattern.test(reason))
  return found ? found[1] : 'its host does not answer'
}
