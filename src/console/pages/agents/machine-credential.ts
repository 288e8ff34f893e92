/** The response to the form that made a credential: the secret, once, and how a program uses it. */
import { html } from 'hono/html'
import { MACHINE_AGENT_TOKEN_SECONDS } from '../../../contracts/limits.ts'
import { card, linkButton, notice } from '../../../pages/parts.ts'
import { copyable } from '../../components.ts'
import type { PageContext } from '../../context.ts'
import { page } from '../../layout.ts'
import { machineAgentPath, type Agent } from './machine-agent-labels.ts'

/** Shown in this response and nowhere else: not in a cookie, not in an address. */
export const credentialCreated = (
  c: PageContext,
  title: string,
  agent: Pick<Agent, 'id' | 'client_id' | 'name'>,
  secret: string | null,
) =>
  page(c, {
    title,
    status: 201,
    body: html`<div class="card">
        ${secret !== null && notice('info', html`<p><strong>Copy the secret now.</strong> It is not stored and cannot be shown again.</p>`)}
        <h2>Client ID</h2>
        ${copyable('client-id', agent.client_id, `Client ID of ${agent.name}`)}
        ${secret !== null && html`<h2>Secret</h2>${copyable('secret', secret, `Secret of ${agent.name}`)}`}
        <div class="actions">${linkButton(machineAgentPath(agent.id), 'Done')}</div>
      </div>
      ${card('Use it', secret === null ? keyExample(c, agent.client_id) : secretExamples(c, agent.client_id))}`,
  })

const addressesOf = (c: PageContext) => {
  const { authUrl, appUrl, mcpUrl } = c.var.deps
  return { issuer: (authUrl ?? appUrl).origin, endpoint: `${mcpUrl.origin}/platform` }
}

const MINUTES = MACHINE_AGENT_TOKEN_SECONDS / 60

/** The secret comes from the environment, so that it is in no history of a shell. */
function secretExamples(c: PageContext, clientId: string) {
  const { issuer, endpoint } = addressesOf(c)
  return html`<p>Set <code>SVC_CLIENT_SECRET</code> to the secret. A token is valid for ${MINUTES} minutes; then the program asks for a new one.</p>
    <h3>With curl</h3>
    ${copyable(
      'with-curl',
      [
        `access=$(curl -sS ${issuer}/oauth/token -u "${clientId}:$SVC_CLIENT_SECRET" \\`,
        `  -d grant_type=client_credentials -d resource=${endpoint} | jq -r .access_token)`,
        `curl ${endpoint} -H "Authorization: Bearer $access" \\`,
        `  -H 'Content-Type: application/json' -H 'Accept: application/json' \\`,
        `  -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami","arguments":{}}}'`,
      ].join('\n'),
      'Commands that get a token and call a tool',
    )}
    <h3>In TypeScript</h3>
    ${copyable(
      'in-typescript',
      [
        `import { Client, ClientCredentialsProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'`,
        '',
        'const authProvider = new ClientCredentialsProvider({',
        `  clientId: '${clientId}',`,
        '  clientSecret: process.env.SVC_CLIENT_SECRET!,',
        `  expectedIssuer: '${issuer}',`,
        '})',
        `const client = new Client({ name: 'my-agent', version: '1.0.0' })`,
        `await client.connect(new StreamableHTTPClientTransport(new URL('${endpoint}'), { authProvider }))`,
      ].join('\n'),
      'Program that connects',
    )}`
}

function keyExample(c: PageContext, clientId: string) {
  const { issuer, endpoint } = addressesOf(c)
  return html`<p>The program signs an assertion with its private key (<code>private_key_jwt</code>). A token is valid for ${MINUTES} minutes; then it asks for a new one.</p>
    ${copyable(
      'in-typescript',
      [
        `import { Client, PrivateKeyJwtProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'`,
        '',
        'const authProvider = new PrivateKeyJwtProvider({',
        `  clientId: '${clientId}',`,
        '  privateKey: process.env.SVC_PRIVATE_KEY!,',
        `  algorithm: 'ES256', // EdDSA or RS256, as your key is`,
        `  expectedIssuer: '${issuer}',`,
        '})',
        `const client = new Client({ name: 'my-agent', version: '1.0.0' })`,
        `await client.connect(new StreamableHTTPClientTransport(new URL('${endpoint}'), { authProvider }))`,
      ].join('\n'),
      'Program that connects',
    )}`
}
