/** docs/operations.md: every operation in one line, so that a review sees what a change adds to the API or opens in it. */
import type { Operation } from '../../src/contracts/operation.ts'
import { OPERATIONS } from '../../src/contracts/operations.ts'
import { table } from './table.ts'

export const operationsPage = (): string => `# Operations

<!-- Written by \`npm run generate\` from src/contracts. -->

Everything the HTTP API can do. A running server has the details: \`/api/docs\` to read, \`/api/openapi.json\` for programs.

"Access" is who may call it at all: \`anyone\`, whoever is signed in (\`person\`; \`session\`: not with a token), a member with
at least this role, or the \`operator\`. "Scope" opens it to agents and to tokens with scopes; without one it is closed to them.

"Changes" are where what it changes is before it is answered, if the database has a [synchronous
standby](operating.md#standbys): there, too (\`standby\`), or on the server alone (\`local\`). What only reads changes nothing but
counts, and those are \`local\`; "may be old": it may be read from \`DATABASE_REPLICA_URL\`.

${table(
  ['Operation', 'Method', 'Path', 'Access', 'Scope', 'Changes'],
  (OPERATIONS as readonly Operation[]).map(
    ({ name, http, access, scope, readOnly, durability, mayBeOld }) => [
      name,
      http.method.toUpperCase(),
      `\`${http.path}\``,
      access,
      scope ?? '',
      readOnly && durability === 'local' ? (mayBeOld ? 'may be old' : '') : durability,
    ],
  ),
)}
`
