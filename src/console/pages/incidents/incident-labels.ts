/** Labels and paths of incidents. */
import type * as z from 'zod'
import type { IncidentState } from '../../../contracts/incident-steps.ts'
import type { showIncident } from '../../../contracts/incidents.ts'
import { badge } from '../../components.ts'
import { appPath } from '../apps/app-labels.ts'
import { checkPath } from '../apps/check-labels.ts'
import { deploymentPath } from '../apps/deployment-labels.ts'
import { findingPath, proposalPath, runPath } from '../maintenance/maintenance-labels.ts'

export type Incident = z.output<typeof showIncident.output>

/** Of a group of log lines, a finding or a check: each leads to the one page of what is wrong. */
export const incidentPath = (alias: string, id: string): string => `${appPath(alias)}/incidents/${id}`

const STATES: Record<IncidentState, Parameters<typeof badge>> = {
  open: ['Open', 'wait'],
  quiet: ['Quiet', 'off'],
  resolved: ['Resolved', 'on'],
}
export const incidentBadge = (state: IncidentState) => badge(...STATES[state])

const PAGES: Readonly<Record<string, (alias: string, id: string) => string>> = {
  fnd: findingPath,
  pr: proposalPath,
  dep: deploymentPath,
  exec: runPath,
  chk: checkPath,
}

/** Of what a step of the timeline names. */
export const pageOf = (alias: string, id: string | null): string | undefined =>
  id === null ? undefined : PAGES[id.slice(0, id.indexOf('_'))]?.(alias, id)
