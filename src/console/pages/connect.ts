/** Connect an assistant: for each one people have, what to run or click so that it finds this server. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import { card, linkButton, notice } from '../../pages/parts.ts'
import { page } from '../layout.ts'
import { copyable } from '../parts.ts'
import { organizationOf, type ConsoleEnv } from '../visit.ts'
import { ASSISTANTS, isLoopback, type Assistant, type Endpoint, type Way } from './assistants.ts'

type C = Context<ConsoleEnv>

export const connectPages = () => new Hono<ConsoleEnv>().get('/connect', showConnect)

function showConnect(c: C) {
  const { name, agents_enabled } = organizationOf(c)
  const { mcpUrl, authMode } = c.var.needs
  const isHosted = authMode === 'hosted'
  const isHereOnly = isLoopback(mcpUrl)
  const platform = { name: 'svc', url: new URL('/platform', mcpUrl).href }
  const notifications = { name: 'svc-notifications', url: new URL('/notifications', mcpUrl).href }
  return page(c, {
    title: 'Connect an assistant',
    lead: `Let an assistant ask the data of ${name} as you, and never more than you allow it.`,
    body: html`
      ${!agents_enabled && notice('info', html`<p><strong>Agents are switched off.</strong> None gets in until they are <a href="/console/settings/security">switched on</a> again.</p>`)}
      ${isHereOnly && notice('info', html`<p><strong>This server is on this computer only</strong> (<code>${mcpUrl.host}</code>). Assistants on the web, such as Claude and ChatGPT, call from their makers’ clouds and cannot reach it; those that run on the same computer can. For the others it needs a public https address.</p>`)}
      ${card(
        'What will happen',
        html`<ol class="numbered">
            <li><h3>You add an address</h3><p>The first is for questions to your data, the second for your notifications. Most people need the first only.</p>${copyable('address-platform', platform.url, 'Address of the platform')} ${copyable('address-notifications', notifications.url, 'Address of the notifications')}</li>
            ${isHosted ? BY_TOKEN : BY_SIGN_IN}
          </ol>
          ${!isHosted && html`<p class="note">Where an assistant finds no way to sign in, an <a href="#about-scripts">API token</a> does it.</p>`}`,
      )}
      ${isHosted ? tokenCard(platform) : ASSISTANTS.map((assistant) => assistantCard(assistant, [platform, notifications], isHereOnly))}
      ${scriptCard(platform)}
    `,
  })
}

const BY_SIGN_IN = html`<li><h3>You sign in</h3><p>The assistant opens a page of this server in your browser. It never sees your password.</p></li>
  <li><h3>You decide</h3><p>You choose the organization, what the assistant may do and which data sources it may ask.</p></li>
  <li><h3>You keep an eye on it</h3><p>From then on it stands under <a href="/console/agents">Connected agents</a>, where you narrow or end it, and what it asked under <a href="/console/activity">Activity</a>.</p></li>`

/** With hosted auth this installation issues no tokens of its own, so there is nothing to sign in at. */
const BY_TOKEN = html`<li><h3>You make an API token</h3><p>This installation leaves sign-in to the hosted service, so assistants come with an <a href="/console/settings/tokens/new">API token</a>. Choose its scopes, its highest role and when it ends.</p></li>
  <li><h3>You keep an eye on it</h3><p>What was asked with it stands under <a href="/console/activity">Activity</a>; revoked, it ends with the next call.</p></li>`

/** Those that take a header; the value stays in the environment, never in a file that is shared. */
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
    'Assistants that take a token',
    html`<p>Put the value into <code>SVC_TOKEN</code> first. Claude Code:</p>
      ${copyable('token-claude', command, 'A command that adds this server to Claude Code')}
      <p>Codex, in <code>~/.codex/config.toml</code>:</p>
      ${copyable('token-codex', codex, 'Configuration of Codex')}
      <p>VS Code, in <code>.vscode/mcp.json</code>; it asks for the value:</p>
      ${copyable('token-vscode', editors, 'Configuration of VS Code')}
      <p class="note">Assistants on the web that know no header, such as Claude and ChatGPT, cannot be connected here.</p>`,
  )
}

function assistantCard(assistant: Assistant, [first, second]: [Endpoint, Endpoint], isHereOnly: boolean) {
  const isOutOfReach = isHereOnly && assistant.callsFrom === 'cloud'
  const ways = isOutOfReach ? assistant.waysFromHere : assistant.ways
  if (!ways) return card(assistant.name, html`<p>${OUT_OF_REACH}</p>`)
  const steps = (endpoint: Endpoint) =>
    html`${waysOf(assistant, ways(endpoint), endpoint)}
      <p class="note">${isOutOfReach ? THROUGH_MCP_REMOTE : assistant.next(endpoint)}</p>`
  return card(
    assistant.name,
    html`${steps(first)}
      <details class="more">
        <summary>The same for notifications</summary>
        <div class="stack">${steps(second)}</div>
      </details>`,
  )
}

const OUT_OF_REACH = 'It calls from its maker’s cloud, and cannot reach this server on your computer.'
const THROUGH_MCP_REMOTE =
  'On the web it cannot reach this server. The desktop program can, through mcp-remote, which needs Node.js: put this into its configuration and start it again.'

const waysOf = ({ id, name }: Assistant, ways: readonly Way[], endpoint: Endpoint) =>
  ways.map((way, at) => {
    const label = `${name}, ${endpoint.name}`
    switch (way.kind) {
      case 'link':
        return html`<div class="actions">${linkButton(way.href, way.label, 'quiet')}</div>`
      case 'command':
        return html`<p>${way.about}:</p>
          ${copyable(`${id}-${endpoint.name}-${at}`, way.text, `${way.about}: ${label}`)}`
      case 'file':
        return html`<p>In <code>${way.path}</code>:</p>
          ${copyable(`${id}-${endpoint.name}-${at}`, way.text, `${way.path}: ${label}`)}`
    }
  })

/** Asked without a handshake, which this server does not need; JSON alone, because an event stream is no use to a shell. */
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
    html`<p>Nobody is there to sign in when a script runs. <a href="/console/settings/tokens/new">Make an API token</a> whose audience is <strong>Platform for assistants</strong> and put its value into <code>SVC_TOKEN</code>; this asks who it acts for:</p>
      ${copyable('script', line, 'A command that calls the tool whoami')}
      <p class="note">Assistants that take a header instead of a sign-in send the same one: <code>Authorization: Bearer</code> and the value.</p>`,
  )
}
