/** What apps do, part by part. */
import { appChecks } from './apps-checks.ts'
import { appLogs } from './apps-logs.ts'
import { appSource } from './apps-source.ts'

const PARTS = { source: appSource, logs: appLogs, checks: appChecks }

export async function apps(): Promise<string[]> {
  const lines: string[] = []
  for (const [name, part] of Object.entries(PARTS)) {
    lines.push(name, ...(await part()).map((line) => `  ${line}`))
  }
  return lines
}
