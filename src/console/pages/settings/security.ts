/** Organization settings > Security: turning all agents off and on, refusing clients that register themselves, and what is not used. */
import { html } from 'hono/html'
import { updateOrganization } from '../../../contracts/organizations.ts'
import { act, submit } from '../../act.ts'
import { formOf, type Refused } from '../../fields.ts'
import { form, formCard, statusOf, text, confirmDialog } from '../../forms.ts'
import { page } from '../../layout.ts'
import { badge } from '../../components.ts'
import { button, card } from '../../../pages/parts.ts'
import { createRoutes, hasRole, organizationOf, sessionOf, type PageContext } from '../../context.ts'

const PATH = '/console/settings/security'

export const securityRoutes = () =>
  createRoutes()
    .get('/settings/security', (c) => showSecurity(c))
    .post('/settings/security/agents', switchAgents)
    .post('/settings/security/registered-clients', setRegisteredClients)
    .post('/settings/security/unused', setUnused)

const UNUSED = formOf(updateOrganization, ['narrow_unused_after_days', 'end_unused_after_days'])

function showSecurity(c: PageContext, refused?: Refused) {
  const { name, agents_enabled: isOn, registered_clients } = organizationOf(c)
  return page(c, {
    title: 'Security',
    lead: `Control which programs have access to ${name}.`,
    status: statusOf(refused?.problem),
    body: html`${card(
      'Agents',
      html`<p class="switch-state">${isOn ? badge('On', 'on') : badge('Off', 'off')} ${isOn ? 'Assistants can connect and act for the person who approved them.' : 'Assistants have no access.'}</p>
        <h3>What this setting does</h3>
        <ul>
          <li><strong>Off</strong>: connected agents and API tokens are refused at the MCP endpoints, starting with their next call.</li>
          <li><strong>On</strong>: agents that were connected before work again, within their roles and scopes.</li>
          <li>The console and API tokens used with the HTTP API are not affected.</li>
        </ul>
        <p>Manage single agents under <a href="/console/agents">Connected agents</a>${hasRole(sessionOf(c), 'admin') && html`, and block clients under <a href="/console/agents/clients">Agent clients</a>`}.</p>
        <p>If somebody else had access, <a href="/console/end-access">end everything made since then</a>.</p>
        ${hasRole(sessionOf(c), 'admin') ? switchForm(c, isOn) : html`<p class="note">Owners and admins can change this.</p>`}`,
    )}
    ${card('Registered clients', registeredClients(c, registered_clients === 'allowed'))}
    ${unusedCard(c, refused)}`,
  })
}

const switchForm = (c: PageContext, isOn: boolean) =>
  isOn
    ? html`<div class="actions">${confirmDialog(c, {
        id: 'agents-off',
        label: 'Turn off agents',
        title: 'Turn off agents?',
        action: `${PATH}/agents`,
        text: 'All connected assistants of all members stop working immediately. You can turn agents on again at any time.',
        fields: html`<input type="hidden" name="agents" value="off" />`,
        submit: 'Turn off agents',
      })}</div>`
    : form(
        c,
        `${PATH}/agents`,
        html`<input type="hidden" name="agents" value="on" />${button('Turn on agents')}`,
        '',
      )

/** Anybody can register a client under any name; of a metadata document at least the host is verified. */
const registeredClients = (c: PageContext, isAllowed: boolean) =>
  html`<p class="switch-state">${isAllowed ? badge('Allowed', 'on') : badge('Refused', 'off')} ${isAllowed ? 'Clients that registered themselves can be connected.' : 'Clients that registered themselves have no access.'}</p>
    <p>Most assistants identify themselves by a document on their own website. The others register, under a name nobody verifies. If you refuse those, agents of theirs that are connected stop working, starting with their next call. Clients registered by the operator are not affected.</p>
    ${
      hasRole(sessionOf(c), 'admin')
        ? form(
            c,
            `${PATH}/registered-clients`,
            html`<input type="hidden" name="registered_clients" value="${isAllowed ? 'refused' : 'allowed'}" />${button(isAllowed ? 'Refuse registered clients' : 'Allow registered clients', isAllowed ? 'quiet' : 'main')}`,
            '',
          )
        : html`<p class="note">Owners and admins can change this.</p>`
    }`

function unusedCard(c: PageContext, refused: Refused | undefined) {
  const organization = organizationOf(c)
  if (hasRole(sessionOf(c), 'admin')) {
    return formCard(c, {
      of: UNUSED.show({ now: organization, refused }),
      title: 'Unused agents',
      action: `${PATH}/unused`,
      submit: 'Save',
    })
  }
  const { narrow_unused_after_days, end_unused_after_days } = organization
  return card(
    'Unused agents',
    html`<ul class="plain">
        <li>${narrow_unused_after_days === null ? 'Agents keep what they do not use.' : `Agents lose what they have not used for ${narrow_unused_after_days} days.`}</li>
        <li>${end_unused_after_days === null ? 'Agents that are not used stay connected.' : `Agents that were not used for ${end_unused_after_days} days are disconnected.`}</li>
      </ul>
      <p class="note">Owners and admins can change this.</p>`,
  )
}

const setUnused = submit(UNUSED, {
  again: showSecurity,
  done: () => [PATH, 'Saved what becomes of unused agents.'],
})

const setRegisteredClients = act(updateOrganization, {
  input: (sent) => ({
    registered_clients:
      text(sent, 'registered_clients') === 'refused' ? ('refused' as const) : ('allowed' as const),
  }),
  back: PATH,
  done: (_, sent) => `Registered clients ${sent.registered_clients}.`,
})

const switchAgents = act(updateOrganization, {
  input: (sent) => ({ agents_enabled: text(sent, 'agents') === 'on' }),
  back: PATH,
  done: (_, { agents_enabled }) => (agents_enabled ? 'Agents turned on.' : 'Agents turned off.'),
})
