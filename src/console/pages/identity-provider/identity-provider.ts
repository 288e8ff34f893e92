/** Identity provider: adding it, checking it, switching it on, and what holds while it is on. */
import { html } from 'hono/html'
import {
  activateIdentityProvider,
  createIdentityProvider,
  deleteIdentityProvider,
  endEnterpriseGrants,
  probeIdentityProvider,
  updateIdentityProvider,
} from '../../../contracts/identity-provider.ts'
import { TENANT_CLAIMS } from '../../../contracts/identity-provider-states.ts'
import { icon } from '../../../pages/icons.ts'
import { button, card, notice, problemNotice, type Content } from '../../../pages/parts.ts'
import { copyable } from '../../components.ts'
import { createRoutes, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { act, submit } from '../../act.ts'
import { formOf, refuse, type Refused } from '../../fields.ts'
import { attempt, confirmDialog, form, formCard, statusOf, text } from '../../forms.ts'
import { page } from '../../layout.ts'
import { IDENTITY_PROVIDER as PATH } from '../../navigation.ts'
import { CHECK, checkForm, checkResults, type Checked } from './provider-check.ts'
import { isOwner, mayChange, providerPage, readProvider, type Provider, type Shown } from './provider-page.ts'
import { signInCard } from './sign-in-card.ts'
import { providerSettings, requiredCard, SETTINGS, stateCard } from './provider-settings.ts'

export const identityProviderRoutes = () =>
  createRoutes()
    .get('/identity-provider', (c) => show(c))
    .post('/identity-provider', create)
    .post('/identity-provider/check', check)
    .post('/identity-provider/switch-on', switchOn)
    .post('/identity-provider/settings', saveSettings)
    .post('/identity-provider/state', setState)
    .post('/identity-provider/required', setRequired)
    .post('/identity-provider/end-agents', endAgents)
    .post('/identity-provider/remove', remove)

const ADD = formOf(createIdentityProvider, ['name', 'issuer', 'tenant_claim', 'tenant_value'])
const ACTIVATE = formOf(activateIdentityProvider, ['assertion'], { assertion: { id: 'proof' } })

/** What a form that was just submitted adds to the page. */
type Given = {
  refused?: Refused
  checked?: { result: Checked; assertion: string | undefined }
}

async function show(c: PageContext, given: Given = {}) {
  const shown = await readProvider(c)
  const provider = shown.identity_provider
  if (provider === null) return showNone(c, shown, given.refused)
  return providerPage(c, 'Provider', {
    lead: html`<bdi>${provider.name}</bdi> vouches for the members of ${organizationOf(c).name} when an assistant connects for them.`,
    actions: mayChange(c) && removeDialog(c, provider),
    status: statusOf(given.refused?.problem),
    body: html`${!shown.is_enabled && offNotice()}
      ${
        provider.state === 'draft'
          ? besideSignIn(c, shown, html`${draftBody(c, provider, given)} ${valuesCard(shown)}`)
          : html`${onBody(c, provider, shown, given)} ${valuesCard(shown)}`
      }`,
  })
}

const besideSignIn = (c: PageContext, shown: Shown, content: Content) =>
  html`<div class="split"><div class="split-main">${content}</div><div class="split-side">${signInCard(c, shown)}</div></div>`

const offNotice = () =>
  notice(
    'info',
    html`<p><strong>Turned off for this installation.</strong> No assistant connects through an identity provider until the operator turns it on.</p>`,
  )

function showNone(c: PageContext, shown: Shown, refused: Refused | undefined) {
  return page(c, {
    title: 'Assistants from your identity provider',
    lead: 'Connect everybody at once. Your identity provider vouches for members, and their assistants connect without asking each of them. You decide which assistants may, and what they can do.',
    tabs: [],
    status: statusOf(refused?.problem),
    body: html`${!shown.is_enabled && offNotice()}
      ${
        shown.is_enabled
          ? besideSignIn(c, shown, html`${mayChange(c) && addCard(c, refused)} ${valuesCard(shown)}`)
          : signInCard(c, shown)
      }`,
  })
}

/** The values stay hidden until somebody says that the issuer is shared, or the gateway does. */
function addCard(c: PageContext, refused: Refused | undefined) {
  const form = ADD.show({ refused })
  return formCard(c, {
    of: form,
    title: 'Add your identity provider',
    lead: 'It must support ID-JAG, also called Cross App Access. Nothing changes for members until an owner switches it on.',
    action: PATH,
    fields: html`${form.field('name')} ${form.field('issuer')}
    <details class="more" ${isAboutTenant(form) && html`open`}>
      <summary>Other organizations use the same issuer</summary>
      <p class="note">Such as Google, or Microsoft Entra with “common” in its address. A claim tells you apart.</p>
      <div class="question-parts">
        ${form.field('tenant_claim', { options: [{ value: '', label: 'None' }, ...TENANT_CLAIMS.map((value) => ({ value, label: value }))] })}
        ${form.field('tenant_value')}
      </div>
    </details>`,
    submit: 'Add identity provider',
  })
}

/** The gateway answers an issuer that is shared with a conflict. */
const isAboutTenant = ({ value, problem }: ReturnType<typeof ADD.show>): boolean =>
  value('tenant_claim') !== '' || value('tenant_value') !== '' || problem?.code === 'CONFLICT'

const valuesCard = ({ audience, resources }: Shown) =>
  card(
    'Enter at your identity provider',
    html`<h3>Audience</h3>
      ${copyable('audience', audience, 'Audience')}
      <h3>${resources.length === 1 ? 'Resource' : 'Resources'}</h3>
      ${resources.map(({ resource, url }) => copyable(`resource-${resource}`, url, `Resource ${resource}`))}
      <p class="note">Without a slash at the end: they are compared letter by letter.</p>`,
  )

const draftBody = (c: PageContext, provider: Provider, given: Given) =>
  card(
    'Set up',
    html`<ol class="steps">
      ${step(true, `${provider.name} is added`, html`<p class="note"><code>${provider.issuer}</code>${provider.tenant && html`, where <code>${provider.tenant.claim}</code> is <code>${provider.tenant.value}</code>`}</p>`)}
      ${step(
        given.checked?.result.assertion?.subject != null,
        'Check it',
        html`${mayChange(c) && checkForm(c, given.refused)} ${given.checked && checkResults(given.checked.result)}
        <p class="note">You can already set up <a href="${PATH}/clients">clients</a>, <a href="${PATH}/rules">rules</a> and <a href="${PATH}/people">people</a>.</p>`,
      )}
      ${step(false, 'Switch it on', switchOnPart(c, given))}
    </ol>`,
  )

const step = (isDone: boolean, label: string, content: Content) =>
  html`<li class="step ${isDone && 'step-done'}">
    <span class="step-mark">${isDone && icon('check')}</span>
    <div class="step-body"><p class="step-label">${label}${isDone && html`<span class="unseen">, done</span>`}</p>${content}</div>
  </li>`

/** An admin who runs a provider could otherwise act as an owner through it. */
function switchOnPart(c: PageContext, { checked, refused }: Given) {
  if (!isOwner(c) || !mayChange(c))
    return html`<p class="note">Only an owner can do this. Ask one to open this page.</p>`
  const isTried = checked?.result.assertion?.subject != null
  const shown = ACTIVATE.show({ refused })
  return html`<p class="note">With an assertion for yourself, which proves that the provider is yours: with your email address, verified here and in the email domains of ${organizationOf(c).name}. Whoever runs the provider can then act as any member, also as an owner.</p>
    ${problemNotice(shown.problem, shown.shown)}
    ${form(
      c,
      `${PATH}/switch-on`,
      html`${
        isTried ? html`<input type="hidden" name="assertion" value="${checked.assertion}" />` : shown.all()
      }
      ${button(isTried ? 'Switch on with this assertion' : 'Switch on')}`,
    )}`
}

const onBody = (c: PageContext, provider: Provider, shown: Shown, given: Given) =>
  html`${
    provider.proven_at === null &&
    card(
      'Switch it on again',
      switchOnPart(c, given),
      'The operator gave this issuer to another organization.',
    )
  }
  <div class="split">
    <div class="split-side">${stateCard(c, provider)} ${requiredCard(c, provider)} ${signInCard(c, shown)}</div>
    <div class="split-main">
      ${providerSettings(c, provider, given.refused)}
      ${
        mayChange(c) &&
        card(
          'Check',
          html`${checkForm(c, given.refused)} ${given.checked && checkResults(given.checked.result)}`,
          'Reads its metadata and keys again. Paste an assertion to see what becomes of it.',
        )
      }
      ${given.checked && hasMovedKeys(given.checked.result) && card('Switch it on again', switchOnPart(c, given), 'Its keys are at another address now.')}
    </div>
  </div>`

const hasMovedKeys = ({ metadata }: Checked): boolean => metadata.problem === null && !metadata.is_pinned

const removeDialog = (c: PageContext, { name }: Provider) =>
  confirmDialog(c, {
    id: 'remove-provider',
    label: 'Remove',
    title: `Remove ${name}?`,
    action: `${PATH}/remove`,
    text: 'Its agents lose access on their next call. Its clients, rules, links and refusals are deleted.',
    submit: 'Remove identity provider',
  })

const showRefused = (c: PageContext, refused: Refused) => show(c, { refused })

const create = submit(ADD, {
  again: showRefused,
  done: () => [PATH, 'Identity provider added. Check it next.'],
})

async function check(c: PageContext) {
  const { assertion } = CHECK.read(c.get('form'))
  const result = await attempt(() => sessionOf(c).call(probeIdentityProvider, { assertion }))
  // The assertion is in no redirect: it is a credential for some minutes.
  return 'problem' in result
    ? showRefused(c, refuse(c, result.problem, CHECK))
    : show(c, { checked: { result: result.done, assertion } })
}

const switchOn = submit(ACTIVATE, {
  again: showRefused,
  done: () => [PATH, 'Identity provider switched on.'],
})

const saveSettings = submit(SETTINGS, { again: showRefused, done: () => [PATH, 'Settings saved.'] })

const setState = act(updateIdentityProvider, {
  input: (sent) => ({ state: text(sent, 'state') === 'on' ? ('on' as const) : ('paused' as const) }),
  back: PATH,
  done: (_, { state }) => (state === 'on' ? 'Identity provider resumed.' : 'Identity provider paused.'),
})

const setRequired = act(updateIdentityProvider, {
  input: (sent) => ({ is_required: text(sent, 'required') === 'yes' }),
  back: PATH,
  done: (_, { is_required }) =>
    is_required
      ? 'Assistants connect through the identity provider only.'
      : 'Members can approve assistants again.',
})

const endAgents = act(endEnterpriseGrants, {
  back: PATH,
  done: ({ ended }) => (ended === 1 ? '1 agent disconnected.' : `${ended} agents disconnected.`),
})

const remove = act(deleteIdentityProvider, { back: PATH, done: 'Identity provider removed.' })
