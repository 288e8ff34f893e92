/** The whole system beside identity providers that play Google, Microsoft and any other. */
import {
  startIdentityProvider,
  type IdentityProvider,
  type PersonAtProvider,
  type ProviderKind,
} from './identity-provider.ts'
import { ORIGIN, startSystem, type TestSystem } from './system.ts'
import { PAGES, type Page, type Walker } from './walker.ts'

/** The words on each one's button. */
export const BUTTON: Record<ProviderKind, string> = {
  google: 'Continue with Google',
  microsoft: 'Continue with Microsoft',
  oidc: 'Continue with Acme',
}

export type WithProviders = TestSystem & { readonly providers: Record<ProviderKind, IdentityProvider> }

export async function startWithProviders(
  people: Record<string, PersonAtProvider>,
  env: Record<string, string> = {},
  kinds: readonly ProviderKind[] = ['google', 'microsoft', 'oidc'],
  overrides: Parameters<typeof startSystem>[1] = {},
): Promise<WithProviders> {
  const started = await Promise.all(
    kinds.map(async (kind) => {
      const provider = await startIdentityProvider({ kind, people })
      provider.registerRedirect(`${env['APP_URL'] ?? ORIGIN}/auth/${kind}/callback`)
      return [kind, provider] as const
    }),
  )
  const settings = Object.assign(
    {},
    PAGES,
    ...started.map(([kind, provider]) => settingsFor(kind, provider)),
    env,
  )
  const system = await startSystem(settings as Record<string, string>, overrides)
  return {
    ...system,
    providers: Object.fromEntries(started) as Record<ProviderKind, IdentityProvider>,
    async stop() {
      await system.stop()
      await Promise.all(started.map(([, provider]) => provider.close()))
    },
  }
}

function settingsFor(kind: ProviderKind, { authority, issuer, clientId, clientSecret }: IdentityProvider) {
  switch (kind) {
    case 'google':
      return { GOOGLE_CLIENT_ID: clientId, GOOGLE_CLIENT_SECRET: clientSecret, GOOGLE_AUTHORITY: authority }
    case 'microsoft':
      return {
        MICROSOFT_CLIENT_ID: clientId,
        MICROSOFT_CLIENT_SECRET: clientSecret,
        MICROSOFT_TENANT_ID: 'common',
        MICROSOFT_AUTHORITY: authority,
      }
    case 'oidc':
      return {
        OIDC_ISSUER: issuer,
        OIDC_CLIENT_ID: clientId,
        OIDC_CLIENT_SECRET: clientSecret,
        OIDC_TITLE: 'Acme',
      }
  }
}

/** Signs in at the provider as that person and stops before the callback. */
export async function walkToCallback(
  system: WithProviders,
  walker: Walker,
  kind: ProviderKind,
  who: string,
  page?: Page,
): Promise<Page> {
  system.providers[kind].signInWithProvider(who)
  const form = page ?? (await walker.open('/auth/sign-in'))
  return walker.follow(await walker.submit(form, BUTTON[kind]), isCallback)
}

/** All the way: what the callback answers. */
export async function signInThrough(
  system: WithProviders,
  walker: Walker,
  kind: ProviderKind,
  who: string,
  page?: Page,
): Promise<Page> {
  return walker.step(await walkToCallback(system, walker, kind, who, page))
}

const isCallback = ({ pathname }: URL): boolean => pathname.endsWith('/callback')
