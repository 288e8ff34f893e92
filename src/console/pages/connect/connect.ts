/** Connect an assistant: pick one, copy what it needs, and see its first call arrive. */
import { html } from 'hono/html'
import { card, linkButton, notice } from '../../../pages/parts.ts'
import { page } from '../../layout.ts'
import { copyable } from '../../components.ts'
import { createRoutes, organizationOf, type Organization, type PageContext } from '../../context.ts'
import { agentsOffNotice } from '../agents/agent-labels.ts'
import { assistantLinks, BY_TOKEN, CONNECT_PATH, waysToConnect, type Way } from './assistant-links.ts'
import { ASSISTANTS, isLoopback, type Assistant, type Endpoint, type SetupStep } from './assistants.ts'
import { progressOf, progressPart, progressText, readSince } from './first-call.ts'
import { tokenSetup } from './token-setup.ts'

export const connectRoutes = () =>
  createRoutes().get('/connect', showConnect).get('/connect/first-call', showFirstCall)

async function showConnect(c: PageContext) {
  const organization = organizationOf(c)
  const { mcpUrl } = c.get('deps')
  const way = wayOf(c)
  return page(c, {
    title: 'Connect an assistant',
    lead: `Let an assistant query the data of ${organization.name} on your behalf, limited to what you allow.`,
    body: html`
      ${agentsOffNotice(organization)} ${providerNotice(organization)}
      ${isLoopback(mcpUrl) && isForTheWeb(way) && notice('info', html`<p><strong>This server is only reachable from this computer</strong> (<code>${mcpUrl.host}</code>). Web assistants such as Claude and ChatGPT cannot reach it; assistants that run on this computer can. To connect web assistants, the server needs a public HTTPS address.</p>`)}
      ${card('Pick an assistant', assistantLinks(c, way))}
      ${way === undefined ? howItWorks() : await setupOf(c, way)}
    `,
  })
}

/** Whoever is connected by their organization has nothing to copy or to approve. */
function providerNotice({ identity_provider: use }: Organization) {
  if (use === 'none') return ''
  const rest =
    use === 'required'
      ? 'Assistants cannot be approved one by one here.'
      : 'If your assistant does not connect by itself, connect it below.'
  return notice(
    'info',
    html`<p><strong>Your organization connects assistants for you.</strong> Sign in to the assistant with your work account: there is nothing to copy or approve. ${rest}</p>`,
  )
}

/** Nobody else is told that a server on this computer cannot be reached from elsewhere. */
const isForTheWeb = (way: Way | undefined): boolean =>
  way === undefined || ASSISTANTS.some(({ id, callsFrom }) => id === way && callsFrom === 'cloud')

/** The part that the script asks for while it waits. */
async function showFirstCall(c: PageContext) {
  organizationOf(c)
  const [way, since] = [wayOf(c) ?? BY_TOKEN.id, readSince(c.req.query('since'), c.get('deps').clock())]
  const here = `${CONNECT_PATH}${new URL(c.req.url).search}`
  return c.html(html`${progressText(c, way, await progressOf(c, way, since), here)}`)
}

/** With hosted auth there is one way only. An address that people edit: what is no assistant is none. */
function wayOf(c: PageContext): Way | undefined {
  const ways = waysToConnect(c)
  return (ways.find(({ id }) => id === c.req.query('assistant')) ?? (ways.length === 1 ? ways[0] : undefined))
    ?.id
}

const howItWorks = () =>
  card(
    'How it works',
    html`<ol class="numbered">
      <li><h3>Add an address</h3><p>Copy one command, or follow one link.</p></li>
      <li><h3>Sign in and choose access</h3><p>The assistant opens a page in your browser. Choose the organization, what the assistant can do and which data sources it can query. It never sees your password.</p></li>
      <li><h3>Review it at any time</h3><p>Change or revoke its access under <a href="/console/agents">Connected agents</a>, and see its calls under <a href="/console/activity">Activity</a>.</p></li>
    </ol>`,
  )

async function setupOf(c: PageContext, way: Way) {
  const since = readSince(c.req.query('since'), c.get('deps').clock())
  const progress = await progressOf(c, way, since)
  const { mcpUrl } = c.get('deps')
  const platform = { name: 'svc', url: new URL('/platform', mcpUrl).href }
  const notifications = { name: 'svc-notifications', url: new URL('/notifications', mcpUrl).href }
  const assistant = ASSISTANTS.find(({ id }) => id === way)
  return html`<div class="split">
    <div class="split-main">
      ${assistant ? assistantCard(assistant, [platform, notifications], isLoopback(mcpUrl)) : tokenSetup(platform, c.get('deps').authMode !== 'hosted')}
    </div>
    <div class="split-side">${card('First call', progressPart(c, way, since, progress))}</div>
  </div>`
}

function assistantCard(assistant: Assistant, [first, second]: [Endpoint, Endpoint], isHereOnly: boolean) {
  const isOutOfReach = isHereOnly && assistant.callsFrom === 'cloud'
  const setup = isOutOfReach ? assistant.localSetup : assistant.setup
  if (!setup) return card(assistant.name, html`<p>${OUT_OF_REACH}</p>`)
  const steps = (endpoint: Endpoint) =>
    html`${setupSteps(assistant, setup(endpoint), endpoint)}
      <p class="note">${isOutOfReach ? THROUGH_MCP_REMOTE : assistant.next(endpoint)}</p>`
  return card(
    assistant.name,
    html`${steps(first)}
      <p class="note">The address is <code>${first.url}</code>. If the assistant cannot sign in, use an <a href="${CONNECT_PATH}?assistant=${BY_TOKEN.id}">API token</a>.</p>
      <details class="more">
        <summary>Setup for notifications</summary>
        <div class="stack">${steps(second)}</div>
      </details>`,
  )
}

const OUT_OF_REACH = 'It runs in the cloud and cannot reach this server on your computer.'
const THROUGH_MCP_REMOTE =
  'The web version cannot reach this server. The desktop app can, through mcp-remote, which requires Node.js. Add this to its configuration and restart it.'

const setupSteps = ({ id, name }: Assistant, setup: readonly SetupStep[], endpoint: Endpoint) =>
  setup.map((step, at) => {
    const label = `${name}, ${endpoint.name}`
    switch (step.kind) {
      case 'link':
        return html`<div class="actions">${linkButton(step.href, step.label)}</div>`
      case 'command':
        return html`<p>${step.about}:</p>
          ${copyable(`${id}-${endpoint.name}-${at}`, step.text, `${step.about}: ${label}`)}`
      case 'file':
        return html`<p>In <code>${step.path}</code>:</p>
          ${copyable(`${id}-${endpoint.name}-${at}`, step.text, `${step.path}: ${label}`)}`
    }
  })
