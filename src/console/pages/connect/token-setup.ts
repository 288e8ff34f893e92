/** For scripts and for assistants that send a header; the value stays in the environment, never in a file that is shared. */
import { html } from 'hono/html'
import { card } from '../../../pages/parts.ts'
import { copyable } from '../../components.ts'
import type { Endpoint } from './assistants.ts'

/** `hasMachineAgents`: with hosted auth there are none. */
export const tokenSetup = (endpoint: Endpoint, hasMachineAgents: boolean) =>
  html`${card(
    'Create a token',
    html`<p><a href="/console/settings/tokens/new?audience=platform">Create a token</a> with the audience <strong>Platform for assistants</strong>, and choose its scopes, its maximum role and when it expires. Set <code>SVC_TOKEN</code> to it.</p>
      <p class="note">Once revoked, the token stops working on the next call.${hasMachineAgents && ' A token acts as you. For a program that runs without you, an admin can create a machine agent: it has its own name, access and expiry.'}</p>`,
  )}
  ${scriptCard(endpoint)} ${headerCard(endpoint)}`

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
    html`<p>This command shows who the token acts for:</p>
      ${copyable('script', line, 'Command that calls the whoami tool')}`,
  )
}

function headerCard({ name, url }: Endpoint) {
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
    html`<p>Claude Code:</p>
      ${copyable('token-claude', command, 'Command that adds this server to Claude Code')}
      <p>Codex, in <code>~/.codex/config.toml</code>:</p>
      ${copyable('token-codex', codex, 'Codex configuration')}
      <p>VS Code, in <code>.vscode/mcp.json</code>, which prompts for the token:</p>
      ${copyable('token-vscode', editors, 'VS Code configuration')}
      <p class="note">Web assistants that do not support headers, such as Claude and ChatGPT, cannot be connected with a token.</p>`,
  )
}
