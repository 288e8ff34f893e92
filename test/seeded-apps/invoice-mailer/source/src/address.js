const EUROPE = new Set(['DE', 'FR', 'NL', 'AT'])

export function addressLines({ name, street, city, country }) {
  const code = country.toUpperCase()
  return [name, street, EUROPE.has(code) ? `${code}-${city}` : `${city}, ${code}`]
}
