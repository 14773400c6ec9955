import type { Json } from './hostile-object.ts'
import { antiAffinity, container, expression, type NamedSpec, requiring, spread } from './pod-parts.ts'
import { prototypeNames, times } from './texts.ts'

/** More than one node of the other pods has, so that it cannot be placed without being looked at. */
const large = { requests: { cpu: '3' } }

/** Pods that cost a planner much more than they look like. */
export function expensivePods(): readonly NamedSpec[] {
  const key = (index: number) => `hostile.example/t${index}`
  return [
    ...many([300, 1600, 4000], 'spreads', (n) => ({
      topologySpreadConstraints: times(n, (i) => spread(key(i), 'ScheduleAnyway')),
    })),
    ...many([100, 2000], 'required spreads', (n) => ({
      topologySpreadConstraints: times(n, (i) => spread(key(i), 'DoNotSchedule')),
    })),
    ...many([1000, 6000], 'preferred terms', preferredTerms),
    ...many([1000, 8000], 'required terms', (n) =>
      requiring(times(n, (i) => expression(`hostile.example/k${i}`, 'In', [`v${i}`]))),
    ),
    ...many([500, 3000], 'friends', friends),
    ...many([500, 3000], 'foes', (n) => antiAffinity(times(n, key))),
    // Four of these together make a NodeClaim that etcd does not take.
    ...times(4, (i): NamedSpec => [`excludes 700 KB of values, ${i + 1} of 4`, excluding(700, i)]),
    ['excludes 64 KB of values', excluding(64, 4)],
    ...many([5000], 'tolerations', (n) => ({
      tolerations: times(n, (i) => ({ key: key(i), operator: 'Exists' })),
    })),
    ...many([2000], 'host ports', (n) => ({
      containers: [{ ...container(), ports: times(n, (i) => ({ containerPort: i + 1, hostPort: i + 1 })) }],
    })),
    ...many([1000], 'containers', (n) => ({
      containers: times(n, (i) => ({ ...container({ requests: { cpu: '1m' } }), name: `c${i}` })),
    })),
    ...many([1000], 'volumes', (n) => ({
      volumes: times(n, (i) => ({ name: `v${i}`, persistentVolumeClaim: { claimName: `none-${i}` } })),
    })),
    ...many([2000], 'resources', (n) => {
      const amounts = Object.fromEntries(times(n, (i) => [`hostile.example/r${i}`, '1']))
      return { containers: [container({ requests: amounts, limits: amounts })] }
    }),
    ...many([2000], 'selected labels', (n) => ({
      nodeSelector: Object.fromEntries(times(n, (i) => [key(i), 'x'])),
    })),
    ['keeps away over every prototype name', antiAffinity(prototypeNames)],
  ]
}

function many(counts: readonly number[], what: string, make: (count: number) => Json): readonly NamedSpec[] {
  return counts.map((count) => [
    `has ${count.toLocaleString('en')} ${what}`,
    { containers: [container(large)], ...make(count) },
  ])
}

function preferredTerms(count: number): Json {
  const terms = times(count, (i) => ({
    weight: (i % 100) + 1,
    preference: expression(`hostile.example/k${i}`, 'In', [`v${i}`]),
  }))
  return { affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: terms } } }
}

function friends(count: number): Json {
  const terms = times(count, (i) => ({
    weight: 1,
    podAffinityTerm: { topologyKey: `hostile.example/t${i}`, labelSelector: { matchLabels: { app: `a${i}` } } },
  }))
  return { affinity: { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: terms } } }
}

/** Any node will do, but the list becomes a requirement of its NodeClaim. */
function excluding(kilobytes: number, pod: number): Json {
  const values = times(kilobytes * 16, (i) => `p${pod}-${i}-${'x'.repeat(50)}`)
  return {
    containers: [container(large)],
    ...requiring([expression('node.kubernetes.io/instance-type', 'NotIn', values)]),
  }
}
