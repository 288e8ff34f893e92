import { fareOf, isNightRate } from './fares.js'

export function closeRide(ride) {
  const fare = fareOf(ride)
  const rate = isNightRate(ride.hour) ? 'night' : 'day'
  console.log(`ride ${ride.id} closed: ${rate} rate, fare ${fare} EUR`)
  return { ...ride, fare }
}
