import { rights } from './rights.ts'

/** Objects that rules name and that others create: AKS, and Helm. */
const ofOthers: readonly string[] = ['upcoming-maintenance-window', 'joiner-settings', 'joiner-files']

/** Returns the names of ConfigMaps or Leases in the namespace of the release that Joiner's processes and commands create. */
export function ownedNames(resource: 'configmaps' | 'leases'): ReadonlySet<string> {
  const own = rights.filter(({ where, resources }) => where === 'own' && resources.includes(resource))
  return new Set(own.flatMap(({ names = [] }) => names).filter((name) => !ofOthers.includes(name)))
}
