import { expect, test } from 'vitest'
import { type BuildState, longestFirst, progressText } from './progress.ts'

const kubernetes: BuildState = {
  servers: ['kube-apiserver', 'kubectl'],
  phase: 'building',
  files: 10_000,
  compiled: 4000,
}
const etcd: BuildState = { servers: ['etcd'], phase: 'waiting', files: 3000, compiled: 0 }
const helm: BuildState = { servers: ['helm'], phase: 'built', files: 7000, compiled: 0 }
const minutes = (count: number) => count * 60_000

test('what has the most to compile is built first', () => {
  expect(longestFirst([etcd, kubernetes, helm])).toEqual([kubernetes, helm, etcd])
})

test.each<[string, readonly BuildState[], number, number, string]>([
  [
    'while sources are fetched nothing is known of what is to compile',
    [{ ...kubernetes, phase: 'fetching', files: 0, compiled: 0 }, etcd],
    minutes(1),
    2,
    'fetching the source of kube-apiserver, kubectl',
  ],
  [
    'what is left takes as long as what is done',
    [kubernetes, etcd, helm],
    minutes(11),
    2,
    '55% of the servers are compiled, about 9 min left: kube-apiserver, kubectl (40%); then etcd',
  ],
  [
    'at first the usual time counts, by cores',
    [
      { ...kubernetes, compiled: 100 },
      { ...etcd, phase: 'building' },
    ],
    minutes(0.1),
    2,
    '0% of the servers are compiled, about 4 min left: kube-apiserver, kubectl (1%), etcd (0%)',
  ],
  [
    'what is compiled is linked still',
    [{ ...kubernetes, compiled: 10_000 }],
    minutes(5),
    8,
    '99% of the servers are compiled, about 1 min left: kube-apiserver, kubectl (99%)',
  ],
  [
    'where Go has kept all packages only links are left',
    [{ ...etcd, phase: 'building', files: 0 }],
    0,
    2,
    '99% of the servers are compiled, about 1 min left: etcd (99%)',
  ],
])('%s', (_, builds, buildingMs, cores, text) => {
  expect(progressText(builds, buildingMs, cores)).toBe(text)
})
