/** `npm run doctor -- <MCP address> [--token <token>]`: names the first broken link between an assistant and a server. */
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { examine } from '../src/cli/doctor.ts'

const USAGE =
  'npm run doctor -- https://mcp.example.com/platform [--token <token>, or --token - to read it from standard input]'

const read = readArguments()
if (!read) {
  console.error(USAGE)
  process.exit(1)
}
const { address, token } = read
// On a command line a token is seen by everybody who lists processes.
const given = token === '-' ? (await text(process.stdin)).trim() : token
for await (const { isOk, said } of examine(address, { fetch, token: given })) {
  console.log(isOk ? `ok      ${said}` : `broken: ${said}`)
  if (!isOk) process.exitCode = 1
}

function readArguments(): { address: string; token: string | undefined } | undefined {
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
