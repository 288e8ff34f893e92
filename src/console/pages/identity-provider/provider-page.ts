/** The pages about the identity provider: their tabs, and what they read first. */
import type * as z from 'zod'
import { showIdentityProvider } from '../../../contracts/identity-provider.ts'
import { notice } from '../../../pages/parts.ts'
import { html } from 'hono/html'
import { hasRole, Redirect, requireRole, sessionOf, type PageContext } from '../../context.ts'
import { page, type Page } from '../../layout.ts'
import { IDENTITY_PROVIDER, IDENTITY_PROVIDER_TABS } from '../../navigation.ts'

export type Shown = z.output<typeof showIdentityProvider.output>
export type Provider = NonNullable<Shown['identity_provider']>
type TabLabel = (typeof IDENTITY_PROVIDER_TABS)[number]['label']

export function readProvider(c: PageContext): Promise<Shown> {
  requireRole(c, 'admin', 'Only owners and admins can manage the identity provider')
  return sessionOf(c).call(showIdentityProvider, {})
}

/** For the tabs that make no sense without one. */
export async function requireProvider(c: PageContext): Promise<Provider> {
  const { identity_provider } = await readProvider(c)
  if (!identity_provider) throw new Redirect(IDENTITY_PROVIDER)
  return identity_provider
}

export const providerPage = (c: PageContext, tab: TabLabel, shown: Omit<Page, 'title' | 'tabs'>) =>
  page(c, {
    title: 'Assistants from your identity provider',
    tabs: IDENTITY_PROVIDER_TABS.map(({ href, label }) => ({ href, label, isCurrent: label === tab })),
    ...shown,
  })

/** Support staff may look, and change nothing. */
export const mayChange = (c: PageContext): boolean => sessionOf(c).support === undefined

export const isOwner = (c: PageContext): boolean => hasRole(sessionOf(c), 'owner')

export const notOnNotice = ({ state }: Provider) =>
  state !== 'on' &&
  notice(
    'info',
    html`<p><strong>The identity provider is ${state === 'draft' ? 'not on yet' : 'paused'}.</strong> What you set up here applies once it is on.</p>`,
  )
