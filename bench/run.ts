/** `npm run bench [name …]`: every claim about speed is a ratio, measured side by side in one run on one machine. */
import { admission } from './admission.ts'
import { apps } from './apps.ts'
import { client } from './client.ts'
import { coldStart } from './cold-start.ts'
import { consolePages } from './console.ts'
import { connector, mcpCall } from './connector.ts'
import { documents } from './documents.ts'
import { embeddings } from './embeddings.ts'
import { failover } from './failover.ts'
import { gateway } from './gateway.ts'
import { growth } from './growth.ts'
import { maintenance } from './maintenance.ts'
import { mcp } from './mcp.ts'
import { memory } from './memory.ts'
import { notifications } from './notifications.ts'
import { question } from './question.ts'
import { questionMemory } from './question-memory.ts'
import { questions } from './questions.ts'
import { recall } from './recall.ts'
import { replicas } from './replicas.ts'
import { rest } from './rest.ts'
import { here, readResults, resultsOf, withResults, writeResults } from './results.ts'
import { scifact } from './scifact.ts'
import { scim } from './scim.ts'
import { rowAccess } from './row-access.ts'
import { scifactDocuments } from './scifact-documents.ts'
import { isSmall } from './sizes.ts'
import { trail } from './trail.ts'
import { underLoad } from './under-load.ts'
import { workload } from './workload.ts'

const BENCHES: Record<string, () => Promise<string[]>> = {
  gateway,
  connector,
  'mcp-call': mcpCall,
  mcp,
  'under-load': underLoad,
  admission,
  'cold-start': coldStart,
  client,
  console: consolePages,
  memory,
  rest,
  embeddings,
  documents,
  'row-access': rowAccess,
  question,
  questions,
  'question-memory': questionMemory,
  recall,
  scifact,
  'scifact-documents': scifactDocuments,
  notifications,
  apps,
  maintenance,
  replicas,
  growth,
  failover,
  workload,
  scim,
  trail,
}

const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !(name in BENCHES))
if (unknown.length > 0) {
  console.error(`No bench called ${unknown.join(', ')}. There are: ${Object.keys(BENCHES).join(', ')}.`)
  process.exit(5)
}
for (const [name, bench] of Object.entries(BENCHES)) {
  if (asked.length > 0 && !asked.includes(name)) continue
  console.log(`\n${name}`)
  const lines = await bench()
  for (const line of lines) console.log(`  ${line}`)
  // Of a run with little work no number means anything.
  if (isSmall) continue
  const isPart = process.env['BENCH_PART'] !== undefined
  writeResults(withResults(readResults(), resultsOf(name, lines, here()), { isPart }))
  console.log('  recorded in bench/results.json; npm run generate writes docs/benchmarks.md')
}
