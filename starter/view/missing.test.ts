import { expect, test } from 'vitest'
import { ApiError } from '../../activities/kubernetes/client/api-error.ts'
import { missingText } from './cluster-watch.ts'

const sinceMs = Date.UTC(2026, 0, 1)

test.each<[string, unknown, boolean, string]>([
  [
    'a right to list',
    new ApiError(403, 'Forbidden', 'no'),
    false,
    'pods: you may not list them; ask for a role that lists and watches them (kubectl auth can-i watch pods --all-namespaces)',
  ],
  [
    'a right to watch',
    new ApiError(403, 'Forbidden', 'no'),
    true,
    'pods: you may not watch them, so they are shown as of 2026-01-01T00:00:00Z; ask for a role that lists and watches them (kubectl auth can-i watch pods --all-namespaces)',
  ],
  [
    'the kind',
    new ApiError(404, 'NotFound', 'no'),
    false,
    'pods: the cluster does not know the kind; install the CRDs where Joiner runs (joiner admin crds apply)',
  ],
  [
    'the API server',
    new Error('connect \u001b[2JECONNREFUSED'),
    false,
    'pods: the API server is not reached since 2026-01-01T00:00:00Z (connect \\u001b[2JECONNREFUSED); not shown yet, trying again',
  ],
  [
    'the API server meanwhile',
    'terminated',
    true,
    'pods: the API server is not reached since 2026-01-01T00:00:00Z (terminated); shown as of then, trying again',
  ],
])('%s is missing', (_, error, isListed, expected) => {
  expect(missingText('pods', error, { sinceMs, isListed })).toBe(expected)
})

test('a long reason is cut', () => {
  expect(missingText('pods', new Error('x'.repeat(10_000)), { sinceMs, isListed: true }).length).toBeLessThan(500)
})
