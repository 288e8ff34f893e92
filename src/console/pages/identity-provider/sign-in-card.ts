/** How people sign in themselves, beside the identity provider that assistants come by: whoever looks for the one finds the other. */
import { html } from 'hono/html'
import { card } from '../../../pages/parts.ts'
import { pair } from '../../components.ts'
import { organizationOf, type PageContext } from '../../context.ts'
import { isOwner, type Shown } from './provider-page.ts'

export function signInCard(c: PageContext, { sign_in }: Shown) {
  const { domains } = organizationOf(c)
  return card(
    'Sign-in providers',
    html`<dl class="pairs pairs-narrow">
        ${sign_in.providers.map(({ title, issuer }) => pair(title, issuer === null ? 'An issuer for each tenant' : html`<code>${issuer}</code>`))}
        ${pair('Password', sign_in.password ? 'People can sign in with one' : 'Turned off')}
        ${pair('Email domains', domains.length > 0 ? domains.join(', ') : 'None')}
      </dl>
      <p class="note">The operator of this installation sets them. ${domains.length > 0 && 'Whoever signs in with an address in one of the domains can join.'} ${isOwner(c) && html`A directory adds and removes members with <a href="/console/members/scim">SCIM</a>.`}</p>`,
    'How people sign in themselves. This page is about their assistants.',
  )
}
