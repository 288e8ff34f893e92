/** Rows about the API, psql and the browser for the table of every command and every exit code. */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Given, Row } from './notification-rows.ts'

/** A psql that only works; what it is given is shown in src/cli/commands/psql.test.ts. */
export function makePsql(folder: string): Record<string, string> {
  const psql = join(folder, 'psql')
  writeFileSync(psql, '#!/bin/sh\nexit "${PSQL_EXIT:-0}"\n')
  chmodSync(psql, 0o755)
  return { psql: folder }
}

const WITH_PSQL: Given = { env: { PATH: '{psql}' } }

export const API_ROWS: Row[] = [
  ['db psql sample', 0, /^$/, WITH_PSQL],
  ['db psql sample -- -At -c "select 1"', 0, /^$/, WITH_PSQL],
  ['db psql sample', 1, /psql ended with exit code 3/, { env: { PATH: '{psql}', PSQL_EXIT: '3' } }],
  ['db psql sample', 1, /psql is not installed, or not on the PATH/, { env: { PATH: '/nowhere' } }],
  ['db psql nothing', 4, /svc db list/, WITH_PSQL],
  ['db psql sample --context ro', 3, /error: /, WITH_PSQL],
  ['db psql', 5, /requires <name>/],
  ['open', 0, /^\{origin\}\/console\n$/],
  ['open apps shop', 0, /^\{origin\}\/console\/apps\/shop\n$/],
  ['open activity --no-browser --json', 0, /"opened": false/, { terminal: true, env: { BROWSER: 'x' } }],
  ['open kitchen', 5, /Must be one of: overview, /],
  ['open audit today', 5, /The page audit has no parts/],
  ['api GET /api/v1/me', 0, /^\{\n {2}"kind": "api_token",/],
  ['api GET /api/wf/slim/data-sources --paginate -o yaml', 0, /^data_sources:\n {2}- id: db_sample\n/],
  ['api GET /api/deploy/apps -F limit=1 --paginate', 0, /"alias": "shop"/],
  ['api POST /api/wf/databases -f name=sample', 6, /already exists/],
  ['api POST /api/wf/databases -f name=Sample', 5, /must be a lowercase letter/],
  ['api GET /api/wf/data-sources/db_nothing', 4, /Not found/],
  ['api GET /api/wf/data-sources --context ro', 3, /error: /],
  ['api GET https://example.com/api/v1/me', 5, /Not a path of \{origin\}/],
  ['api GET', 5, /requires <path>/],
  ['datasource list', 3, /hint: The token comes from SVC_API_KEY\. /, badToken()],
  ['login --api-url {origin}', 3, /hint: The token comes from SVC_API_KEY\. /, badToken()],
  [
    'activity --outcome failed',
    0,
    /No function calls match\. Questions .*: svc activity --type data_source\n/,
  ],
]

function badToken(): Given {
  return { env: { SVC_API_URL: '{origin}', SVC_API_KEY: 'svc_wrong' } }
}

export const API_LINES = ['db psql orders', 'open', 'api GET /api/v1/me']

export const API_UNTRIED = {
  'db psql': { exits: [6], because: 'only an attached database has no connection string to show' },
}
