/** `npm run doctor -- <MCP address> [--token <token>]`: checks how an assistant reaches an MCP endpoint. */
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { checkMcpEndpoint } from '../src/cli/mcp-check/check-endpoint.ts'

const USAGE =
  'npm run doctor -- https://mcp.example.com/platform [--token <token>, or --token - to read it from standard input]'

const parsed = parseArguments()
if (!parsed) {
  console.error(USAGE)
  process.exit(1)
}
const { address, token } = parsed
// On the command line a token is visible to everybody who lists processes.
const given = token === '-' ? (await text(process.stdin)).trim() : token
for await (const { ok, message } of checkMcpEndpoint(address, { fetch, token: given })) {
  console.log(ok ? `ok      ${message}` : `failed  ${message}`)
  if (!ok) process.exitCode = 1
}

function parseArguments(): { address: string; token: string | undefined } | undefined {
  try {
    const { values, positionals } = parseArgs({
      options: { token: { type: 'string' } },
      allowPositionals: true,
    })
    const [address, ...rest] = positionals
    return address === undefined || rest.length > 0 ? undefined : { address, token: values.token }
  } catch {
    return undefined
  }
}
