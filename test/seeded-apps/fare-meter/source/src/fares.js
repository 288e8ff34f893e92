const BASE = 3.2
const PER_KM = 1.85

/** In euros; rides within a zone have no stops. */
export function fareOf({ stops }) {
  const meters = stops
    ? stops.reduce((sum, stop) => sum + stop.meters, 0)
    : undefined
  return BASE + (meters / 1000) * PER_KM
}

export const isNightRate = (hour) => hour >= 22 || hour < 6
