import type { VectorScenario } from '../vectors/scheduling.ts'
import { Draw } from './draw.ts'
import { randomNodes } from './random-nodes.ts'
import { pendingPods, randomGroups } from './random-pods.ts'
import { randomDaemons, randomPools } from './random-pools.ts'
import { randomTypes, type TypeJson } from './random-types.ts'
import { randomVolumes } from './random-volumes.ts'
import { apps, capacityTypeKey, hostnameKey, type Json, now, sizeKey, subjects, zoneKey } from './vocabulary.ts'

/** A small cluster with pods to place, as scenarios are written (test/vectors/golden/scheduling.md): the same for the same seed. */
export function randomCluster(seed: number): VectorScenario {
  const draw = new Draw(seed)
  const about = subjects(draw)
  const types = randomTypes(draw, about)
  const groups = randomGroups(draw, about)
  const scenario = {
    name: `random-${seed}`,
    category: 'random',
    expected: {},
    now,
    options: options(draw),
    wellKnownLabels: [sizeKey],
    instanceTypes: types,
    ...draw.fields(0.1, () => ({ instanceTypesByNodePool: typesOfPools(draw, types) })),
    objects: [
      ...randomPools(draw, about),
      ...randomDaemons(draw, about),
      ...randomVolumes(draw, about),
      ...draw.maybe(0.6, () => ({
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: 'blue', labels: { kind: 'cold' } },
      })),
      ...controllers(draw),
      ...randomNodes(draw, about, types, groups),
      ...pendingPods(draw, about, groups),
    ],
  }
  return scenario
}

function options(draw: Draw): Json {
  const defaultConstraint = () => ({
    maxSkew: 1,
    topologyKey: draw.pick([zoneKey, hostnameKey, capacityTypeKey]),
    whenUnsatisfiable: draw.pick(['DoNotSchedule', 'ScheduleAnyway']),
  })
  return {
    ...draw.fields(0.3, () => ({ preferencePolicy: draw.pick(['Ignore', 'Respect']) })),
    ...draw.fields(0.4, () => ({ minValuesPolicy: draw.pick(['BestEffort', 'Strict']) })),
    ...draw.fields(0.1, () => ({ featureGates: { ReservedCapacity: draw.chance(0.5) } })),
    ...draw.fields(0.1, () => ({
      schedulerConfig: { podTopologySpread: { defaultConstraints: draw.many(1, 2, defaultConstraint) } },
    })),
  }
}

function typesOfPools(draw: Draw, types: readonly TypeJson[]): Readonly<Record<string, readonly string[]>> {
  const names = types.map(({ name }) => name)
  return Object.fromEntries(
    draw.someOf(['pool-0', 'pool-1']).map((pool) => [pool, draw.chance(0.3) ? [] : draw.some(names)]),
  )
}

/** What the default spread constraints take their selectors from. */
function controllers(draw: Draw): readonly Json[] {
  const app = draw.pick(apps)
  return [
    ...draw.maybe(0.2, () => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'service', namespace: 'default' },
      spec: { selector: { app } },
    })),
    ...draw.maybe(0.2, () => ({
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: { name: 'set', namespace: 'default', uid: 'set' },
      spec: { selector: { matchLabels: { app } } },
    })),
  ]
}
