/** The identity provider while it is on or paused: its state, its settings, and whether agents connect through it only. */
import { html } from 'hono/html'
import { updateIdentityProvider } from '../../../contracts/identity-provider.ts'
import { IDENTITY_LINKINGS, type IdentityLinking } from '../../../contracts/identity-provider-states.ts'
import { SCOPE_NAMES } from '../../../contracts/scopes.ts'
import { button, card, choice, type Content } from '../../../pages/parts.ts'
import { badge, day, pair, time } from '../../components.ts'
import { organizationOf, type PageContext } from '../../context.ts'
import { formOf, type Refused } from '../../fields.ts'
import { confirmDialog, form as formTo, formCard } from '../../forms.ts'
import { IDENTITY_PROVIDER as PATH } from '../../navigation.ts'
import { isSensitive, LINKING_LABELS, scopeBoxes, STATE_BADGES } from './provider-labels.ts'
import { mayChange, type Provider } from './provider-page.ts'

const GIVEN_BY_DEFAULT = SCOPE_NAMES.filter((scope) => !isSensitive(scope))

export const SETTINGS = formOf(updateIdentityProvider, [
  'name',
  'linking',
  'default_scopes',
  'token_minutes',
  'assertion_seconds',
])

export function providerSettings(c: PageContext, provider: Provider, refused: Refused | undefined) {
  if (!mayChange(c)) return null
  const form = SETTINGS.show({ now: provider, refused })
  return formCard(c, {
    of: form,
    title: 'Settings',
    action: `${PATH}/settings`,
    fields: html`${form.field('name')}
    <fieldset>
      <legend>How people are linked</legend>
      ${IDENTITY_LINKINGS.map((value) => choice('radio', 'linking', value, form.value('linking') === value, LINKING_LABELS[value].label, linkingNote(c, value)))}
    </fieldset>
    <fieldset>
      <legend>Default permissions</legend>
      <p class="note">Where no rule decides. What only owners give is never given by default.</p>
      ${scopeBoxes('default_scopes', GIVEN_BY_DEFAULT, (scope) => form.list('default_scopes').includes(scope), false)}
    </fieldset>
    <div class="question-parts">${form.field('token_minutes')} ${form.field('assertion_seconds')}</div>
    <p class="note">If you give less than before, its agents are disconnected and connect again by themselves.</p>`,
    submit: 'Save settings',
    kind: 'quiet',
  })
}

function linkingNote(c: PageContext, linking: IdentityLinking): Content {
  const { domains } = organizationOf(c)
  const { about } = LINKING_LABELS[linking]
  if (linking !== 'domain') return about
  return domains.length === 0
    ? `${about} The organization has none: the operator adds them.`
    : `${about} These are ${domains.join(', ')}.`
}

export const stateCard = (c: PageContext, provider: Provider) =>
  card(
    'State',
    html`<dl class="pairs pairs-narrow">
        ${pair('State', STATE_BADGES[provider.state])}
        ${pair('Issuer', html`<code>${provider.issuer}</code>`)}
        ${provider.tenant && pair('Tenant', html`<code>${provider.tenant.claim}</code> is <code>${provider.tenant.value}</code>`)}
        ${pair('Keys', html`<code>${provider.jwks_uri}</code>`)}
        ${provider.proven_at && pair('Proven', html`${day(provider.proven_at)}${provider.proven_by && html` <span class="note">by ${provider.proven_by.name}</span>`}`)}
        ${pair('Agents', provider.live_grants === 0 ? 'None' : html`<a href="/console/agents?all=true">${provider.live_grants}</a>`)}
        ${pair('Last used', provider.last_used_at ? time(provider.last_used_at) : 'Never')}
      </dl>
      ${mayChange(c) && html`<div class="actions">${stateActions(c, provider)}</div>`}`,
  )

const stateActions = (c: PageContext, { name, state, proven_at, live_grants }: Provider) => html`${
  state === 'on'
    ? confirmDialog(c, {
        id: 'pause',
        label: 'Pause',
        title: `Pause ${name}?`,
        action: `${PATH}/state`,
        text: 'Its agents lose access on their next call, and none can connect through it until you resume it.',
        fields: html`<input type="hidden" name="state" value="paused" />`,
        submit: 'Pause identity provider',
      })
    : proven_at !== null &&
      formTo(c, `${PATH}/state`, html`<input type="hidden" name="state" value="on" />${button('Resume')}`, '')
}
${
  live_grants > 0 &&
  confirmDialog(c, {
    id: 'end-agents',
    label: 'Disconnect all agents',
    title: 'Disconnect all its agents?',
    action: `${PATH}/end-agents`,
    text: 'They lose access on their next call. Assistants can connect again with a new assertion; to prevent that, pause it.',
    submit: 'Disconnect agents',
  })
}`

/** In force also while it is paused: then nobody connects. */
export const requiredCard = (c: PageContext, { is_required, proven_at }: Provider) =>
  card(
    'Only through this provider',
    html`<p class="switch-state">${is_required ? badge('On', 'on') : badge('Off', 'off')} ${is_required ? 'Members cannot approve assistants themselves.' : 'Members can also approve assistants themselves.'}</p>
      ${mayChange(c) && (is_required ? allowForm(c) : requireAction(c, proven_at !== null))}`,
  )

const requireAction = (c: PageContext, isProven: boolean) =>
  isProven
    ? html`<div class="actions">${requireDialog(c)}</div>`
    : html`<p class="note">It can be required once an owner has switched it on.</p>`

const requireDialog = (c: PageContext) =>
  confirmDialog(c, {
    id: 'require',
    label: 'Require it',
    title: 'Connect only through this provider?',
    action: `${PATH}/required`,
    text: 'Agents that members approved themselves lose access on their next call, and approving one is refused. That also holds while the provider is paused. Machine agents and API tokens are not affected.',
    fields: html`<input type="hidden" name="required" value="yes" />`,
    submit: 'Require identity provider',
  })

const allowForm = (c: PageContext) =>
  formTo(
    c,
    `${PATH}/required`,
    html`<input type="hidden" name="required" value="no" />${button('Allow approvals again', 'quiet')}`,
    '',
  )
