/** Connect an assistant: the commands and links that add this server to each of them. */
import { html } from 'hono/html'
import { card, linkButton, notice } from '../../../pages/parts.ts'
import { page } from '../../layout.ts'
import { copyable } from '../../components.ts'
import { createRoutes, organizationOf, type PageContext } from '../../context.ts'
import { ASSISTANTS, isLoopback, type Assistant, type Endpoint, type SetupStep } from './assistants.ts'

export const connectRoutes = () => createRoutes().get('/connect', showConnect)

function showConnect(c: PageContext) {
  const { name, agents_enabled } = organizationOf(c)
  const { mcpUrl, authMode } = c.var.deps
  const isHosted = authMode === 'hosted'
  const isHereOnly = isLoopback(mcpUrl)
  const platform = { name: 'svc', url: new URL('/platform', mcpUrl).href }
  const notifications = { name: 'svc-notifications', url: new URL('/notifications', mcpUrl).href }
  return page(c, {
    title: 'Connect an assistant',
    lead: `Let an assistant query the data of ${name} on your behalf, limited to what you allow.`,
    body: html`
      ${!agents_enabled && notice('info', html`<p><strong>Agents are turned off.</strong> No agent has access until they are <a href="/console/settings/security">turned on</a> again.</p>`)}
      ${isHereOnly && notice('info', html`<p><strong>This server is only reachable from this computer</strong> (<code>${mcpUrl.host}</code>). Web assistants such as Claude and ChatGPT cannot reach it; assistants that run on this computer can. To connect web assistants, the server needs a public HTTPS address.</p>`)}
      ${card(
        'How it works',
        html`<ol class="numbered">
            <li><h3>Add an address</h3><p>The first address is for querying data, the second for notifications. Most people only need the first.</p>${copyable('address-platform', platform.url, 'Platform address')} ${copyable('address-notifications', notifications.url, 'Notifications address')}</li>
            ${isHosted ? BY_TOKEN : BY_SIGN_IN}
          </ol>
          ${!isHosted && html`<p class="note">If an assistant cannot sign in, use an <a href="#about-scripts">API token</a>.</p>`}`,
      )}
      ${isHosted ? tokenCard(platform) : ASSISTANTS.map((assistant) => assistantCard(assistant, [platform, notifications], isHereOnly))}
      ${scriptCard(platform)}
    `,
  })
}

const BY_SIGN_IN = html`<li><h3>Sign in</h3><p>The assistant opens a sign-in page in your browser. It never sees your password.</p></li>
  <li><h3>Choose access</h3><p>Choose the organization, what the assistant can do and which data sources it can query.</p></li>
  <li><h3>Review it at any time</h3><p>Change or revoke its access under <a href="/console/agents">Connected agents</a>, and see its calls under <a href="/console/activity">Activity</a>.</p></li>`

/** With hosted auth this installation issues no tokens of its own, so there is nothing to sign in at. */
const BY_TOKEN = html`<li><h3>Create an API token</h3><p>This installation uses the hosted sign-in service, so assistants need an <a href="/console/settings/tokens/new">API token</a>. Choose its scopes, its maximum role and when it expires.</p></li>
  <li><h3>Review it at any time</h3><p>See its calls under <a href="/console/activity">Activity</a>. Once revoked, the token stops working on the next call.</p></li>`

/** For assistants that support headers; the value stays in the environment, never in a file that is shared. */
function tokenCard({ name, url }: Endpoint) {
  const command = `claude mcp add --transport http ${name} ${url} --header "Authorization: Bearer $SVC_TOKEN"`
  const codex = `[mcp_servers.${name}]\nurl = "${url}"\nbearer_token_env_var = "SVC_TOKEN"`
  const editors = JSON.stringify(
    {
      inputs: [{ type: 'promptString', id: 'svc_token', description: 'API token of svc', password: true }],
      servers: { [name]: { type: 'http', url, headers: { Authorization: 'Bearer ${input:svc_token}' } } },
    },
    undefined,
    2,
  )
  return card(
    'Assistants that support tokens',
    html`<p>Set <code>SVC_TOKEN</code> to the token first. Claude Code:</p>
      ${copyable('token-claude', command, 'Command that adds this server to Claude Code')}
      <p>Codex, in <code>~/.codex/config.toml</code>:</p>
      ${copyable('token-codex', codex, 'Codex configuration')}
      <p>VS Code, in <code>.vscode/mcp.json</code>, which prompts for the token:</p>
      ${copyable('token-vscode', editors, 'VS Code configuration')}
      <p class="note">Web assistants that do not support headers, such as Claude and ChatGPT, cannot be connected.</p>`,
  )
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
        return html`<div class="actions">${linkButton(step.href, step.label, 'quiet')}</div>`
      case 'command':
        return html`<p>${step.about}:</p>
          ${copyable(`${id}-${endpoint.name}-${at}`, step.text, `${step.about}: ${label}`)}`
      case 'file':
        return html`<p>In <code>${step.path}</code>:</p>
          ${copyable(`${id}-${endpoint.name}-${at}`, step.text, `${step.path}: ${label}`)}`
    }
  })

/** Without a handshake, which this server does not need; JSON only, because a shell cannot use an event stream. */
const WHO_AM_I = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'whoami', arguments: {} },
})

function scriptCard({ url }: Endpoint) {
  const line = [
    `curl ${url}`,
    '-H "Authorization: Bearer $SVC_TOKEN"',
    "-H 'Content-Type: application/json'",
    "-H 'Accept: application/json'",
    `-d '${WHO_AM_I}'`,
  ].join(' \\\n  ')
  return card(
    'Scripts',
    html`<p>Scripts cannot sign in. <a href="/console/settings/tokens/new">Create a token</a> with the audience <strong>Platform for assistants</strong> and set <code>SVC_TOKEN</code> to it. This command shows who it acts for:</p>
      ${copyable('script', line, 'Command that calls the whoami tool')}
      <p class="note">Assistants that support headers instead of sign-in use the same one: <code>Authorization: Bearer</code> and the token.</p>`,
  )
}
