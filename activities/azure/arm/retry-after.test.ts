import { expect, it } from 'vitest'
import { retryAfterMs } from './azure-error.ts'

/** By this machine's clock it is another time. */
const date = 'Thu, 01 Jan 2026 00:00:00 GMT'

it.each([
  [{ 'retry-after': '17' }, 17_000],
  [{ 'retry-after': '0' }, 0],
  [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:42 GMT' }, 42_000],
  [{ 'retry-after': 'Wed, 31 Dec 2025 23:59:00 GMT' }, 0],
  [{ 'retry-after-ms': '250', 'retry-after': '9' }, 250],
  [{ 'x-ms-retry-after-ms': '1500' }, 1500],
  [{ 'retry-after': '31536000' }, 3_600_000],
  [{ 'retry-after': 'Fri, 01 Jan 2027 00:00:00 GMT' }, 3_600_000],
  [{ 'retry-after-ms': 'Infinity' }, 3_600_000],
  [{ 'retry-after': 'soon' }, undefined],
  [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:42 GMT', date: '' }, undefined],
  [{}, undefined],
] as const)('%o asks for %s ms', (headers: Readonly<Record<string, string>>, ms) => {
  expect(retryAfterMs((name) => ({ date, ...headers })[name])).toBe(ms)
})
