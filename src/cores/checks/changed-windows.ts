/** The maintenance windows of a check after a change. One is added or removed by itself, so that two people lose none. */
import { MAINTENANCE_WINDOWS_MAX, type MaintenanceWindow } from '../../contracts/checks.ts'
import { ServiceError } from '../../contracts/errors.ts'

type Change = {
  readonly maintenance_windows?: readonly MaintenanceWindow[] | undefined
  readonly add_maintenance_window?: MaintenanceWindow | undefined
  readonly remove_maintenance_window?: MaintenanceWindow | undefined
}

export function changedWindows(
  before: readonly MaintenanceWindow[],
  { maintenance_windows, add_maintenance_window: added, remove_maintenance_window: removed }: Change,
): readonly MaintenanceWindow[] {
  const left = (maintenance_windows ?? before).filter((one) => !removed || !isSame(one, removed))
  if (!added || left.some((one) => isSame(one, added))) return left
  if (left.length >= MAINTENANCE_WINDOWS_MAX)
    throw new ServiceError('INVALID_REQUEST', undefined, {
      problems: [`add_maintenance_window: must be at most ${MAINTENANCE_WINDOWS_MAX} in all`],
    })
  return [...left, added]
}

/** However they are written. */
const isSame = (a: MaintenanceWindow, b: MaintenanceWindow): boolean =>
  Date.parse(a.from) === Date.parse(b.from) && Date.parse(a.until) === Date.parse(b.until)
