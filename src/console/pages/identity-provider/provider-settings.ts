/** The identity provider while it is on or paused: its state, its settings, and whether agents connect through it only. */
import { html } from 'hono/html'
import type { ServiceError } from '../../../contracts/errors.ts'
import { ScopeName } from '../../../contracts/fields.ts'
import { IDENTITY_LINKINGS, type IdentityLinking } from '../../../contracts/identity-provider-states.ts'
import { IDENTITY_PROVIDER as LIMITS } from '../../../contracts/limits.ts'
import { SCOPE_NAMES, type Scope } from '../../../contracts/scopes.ts'
import { button, card, choice, inputField, type Content } from '../../../pages/parts.ts'
import { badge, day, pair, time } from '../../components.ts'
import { organizationOf, type PageContext } from '../../context.ts'
import { confirmDialog, form, formCard, text, texts } from '../../forms.ts'
import { IDENTITY_PROVIDER as PATH } from '../../navigation.ts'
import { isSensitive, LINKING_LABELS, scopeBoxes, STATE_BADGES } from './provider-labels.ts'
import { mayChange, type Provider } from './provider-page.ts'

export type SubmittedSettings = {
  name: string
  linking: IdentityLinking
  default_scopes: Scope[]
  assertion_seconds: string
  token_minutes: string
}

const GIVEN_BY_DEFAULT = SCOPE_NAMES.filter((scope) => !isSensitive(scope))

export const readSettings = (fields: FormData): SubmittedSettings => ({
  name: text(fields, 'name'),
  linking: IDENTITY_LINKINGS.find((one) => one === text(fields, 'linking')) ?? 'admin',
  default_scopes: texts(fields, 'default_scopes').filter(
    (scope): scope is Scope => ScopeName.safeParse(scope).success,
  ),
  assertion_seconds: text(fields, 'assertion_seconds'),
  token_minutes: text(fields, 'token_minutes'),
})

export function providerSettings(
  c: PageContext,
  provider: Provider,
  submitted: (SubmittedSettings & { problem: ServiceError }) | undefined,
) {
  if (!mayChange(c)) return null
  const now = submitted ?? {
    ...provider,
    assertion_seconds: String(provider.assertion_seconds),
    token_minutes: String(provider.token_minutes),
  }
  const problem = submitted?.problem
  const { assertionSeconds, tokenMinutes } = LIMITS
  return formCard(c, {
    title: 'Settings',
    action: `${PATH}/settings`,
    problem,
    shown: ['name', 'assertion_seconds', 'token_minutes'],
    fields: html`${inputField({ name: 'name', label: 'Name', value: now.name, required: true, maxlength: 120, autocomplete: 'off', problem })}
    <fieldset>
      <legend>How people are linked</legend>
      ${IDENTITY_LINKINGS.map((value) => choice('radio', 'linking', value, now.linking === value, LINKING_LABELS[value].label, linkingNote(c, value)))}
    </fieldset>
    <fieldset>
      <legend>Default permissions</legend>
      <p class="note">Where no rule decides. What only owners give is never given by default.</p>
      ${scopeBoxes('default_scopes', GIVEN_BY_DEFAULT, (scope) => now.default_scopes.includes(scope), false)}
    </fieldset>
    <div class="question-parts">
      ${inputField({
        name: 'token_minutes',
        label: 'Minutes a token is valid',
        type: 'number',
        value: now.token_minutes,
        required: true,
        hint: `${tokenMinutes.min} to ${tokenMinutes.max}. Somebody removed at the provider keeps access that long.`,
        problem,
      })}
      ${inputField({
        name: 'assertion_seconds',
        label: 'Seconds an assertion is valid',
        type: 'number',
        value: now.assertion_seconds,
        required: true,
        hint: `${assertionSeconds.min} to ${assertionSeconds.max}. Longer ones are refused.`,
        problem,
      })}
    </div>
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
      form(c, `${PATH}/state`, html`<input type="hidden" name="state" value="on" />${button('Resume')}`, '')
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
  form(
    c,
    `${PATH}/required`,
    html`<input type="hidden" name="required" value="no" />${button('Allow approvals again', 'quiet')}`,
    '',
  )
