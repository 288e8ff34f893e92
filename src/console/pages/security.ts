/** The switch that keeps every agent out. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import { updateOrganization } from '../../contracts/organizations.ts'
import { actAndReturn } from '../flash.ts'
import { page } from '../layout.ts'
import { badge, form, opens } from '../parts.ts'
import { button, card } from '../../pages/parts.ts'
import { hasRole, organizationOf, text, visitOf, type ConsoleEnv } from '../visit.ts'

type C = Context<ConsoleEnv>
const PATH = '/console/settings/security'

export const securityPages = () =>
  new Hono<ConsoleEnv>()
    .get('/settings/security', showSecurity)
    .post('/settings/security/agents', switchAgents)

function showSecurity(c: C) {
  const { name, agents_enabled: isOn } = organizationOf(c)
  return page(c, {
    title: 'Security',
    lead: `What may reach into ${name} from outside.`,
    body: card(
      'Agents',
      html`<p class="switch-state">${isOn ? badge('On', 'on') : badge('Off', 'off')} ${isOn ? 'Assistants may connect and ask, each as the person who let it in.' : 'No assistant gets in.'}</p>
        <h3>What the switch does</h3>
        <ul>
          <li><strong>Off</strong>: on the very next call, no connected agent and no API token gets through at the MCP endpoints, whoever it belongs to.</li>
          <li><strong>On</strong>: those that were connected before work again. Roles and scopes still limit each of them.</li>
          <li>People in this console and API tokens at the HTTP API are not touched.</li>
        </ul>
        <p>Single ones are narrowed and ended under <a href="/console/agents">Connected agents</a>${hasRole(visitOf(c), 'admin') && html`, a whole client is kept out under <a href="/console/agents/clients">Agent clients</a>`}.</p>
        ${hasRole(visitOf(c), 'admin') ? switchForm(c, isOn) : html`<p class="note">Owners and admins can switch this.</p>`}`,
    ),
  })
}

const switchForm = (c: C, isOn: boolean) =>
  isOn
    ? html`<div class="actions">${opens('agents-off', 'Switch agents off', {
        title: 'Switch agents off?',
        content: form(
          c,
          `${PATH}/agents`,
          html`<p>Every connected assistant of every member stops working at once. You can switch agents on again at any time.</p>
            <input type="hidden" name="agents" value="off" />
            ${button('Switch agents off', 'danger')}`,
          'stack',
        ),
      })}</div>`
    : form(
        c,
        `${PATH}/agents`,
        html`<input type="hidden" name="agents" value="on" />${button('Switch agents on')}`,
      )

function switchAgents(c: C) {
  const agents_enabled = text(c.get('form'), 'agents') === 'on'
  return actAndReturn(c, PATH, agents_enabled ? 'Agents are on.' : 'Agents are off.', () =>
    visitOf(c).call(updateOrganization, { org_id: organizationOf(c).id, agents_enabled }),
  )
}
