import type { NodeClass, NodeClassSpec } from '../../../api/objects.ts'
import { errorText, type FieldError } from '../../../core/values/field-error.ts'
import { quoted } from '../../../core/values/texts.ts'
import type { AzureConfig } from '../azure-config.ts'
import { azureTagName, isReserved } from '../launch/tags.ts'

// Azure's limits (https://learn.microsoft.com/azure/azure-resource-manager/management/tag-resources#limitations).
const [mostTags, longestName, longestValue] = [50, 512, 256]
const refusedCharacters = /[<>%&\\?]/

/** How many tags of Joiner's VMs and AKS machines have. */
const [ownOfVm, ownOfMachine] = [6, 7]
/** Most names in a message. */
const mostNames = 20

interface Tag {
  readonly given: string
  readonly value: string
  readonly source: 'spec.tags' | 'azure.additionalTags'
}

/**
 * Returns why Azure would refuse a node with the tags of an AKSNodeClass, those of the settings and Joiner's own. The CRD refuses most of what a class
 * has wrong by itself, but not in objects from before it did. Tags that Joiner alone sets are left out: they come to nothing.
 */
export function tagErrors(
  { additionalTags, makesMachines }: Pick<AzureConfig, 'additionalTags' | 'makesMachines'>,
  { tags = {} }: Pick<NodeClassSpec, 'tags'>,
): readonly FieldError[] {
  const tagsOf = (source: Tag['source'], named: Readonly<Record<string, string>>): readonly Tag[] =>
    Object.entries(named)
      .filter(([given]) => !isReserved(azureTagName(given)))
      .map(([given, value]) => ({ given, value, source }))
  const all = [...tagsOf('spec.tags', tags), ...tagsOf('azure.additionalTags', additionalTags)]
  const byName = Map.groupBy(all, ({ given }) => azureTagName(given).toLowerCase())
  const own = makesMachines === undefined ? ownOfVm : ownOfMachine
  const messages = [
    ...all.flatMap(valueErrors),
    ...[...byName.values()].flatMap(twinErrors),
    ...countErrors(byName, own),
  ]
  return messages.map((message) => ({ path: ['spec', 'tags'], message }))
}

/** Returns the first of them as a message of its own; undefined: there is none. */
export function tagProblem(config: Parameters<typeof tagErrors>[0], { metadata, spec }: NodeClass): string | undefined {
  const [first] = tagErrors(config, spec)
  return first && `AKSNodeClass ${metadata.name}: ${errorText(first)}`
}

function valueErrors({ given, value, source }: Tag): readonly string[] {
  const at = `holds ${quoted(given)}${source === 'spec.tags' ? '' : `, from ${source},`}`
  return [
    ...(given.trim() === '' ? [`${at} which is no name; write one`] : []),
    ...(given.length > longestName
      ? [`${at} whose name has ${given.length} characters; use at most ${longestName}`]
      : []),
    ...(refusedCharacters.test(given) ? [`${at} whose name has one of < > % & ? and backslash; leave it out`] : []),
    ...(value.length > longestValue
      ? [`${at} whose value has ${value.length} characters; use at most ${longestValue}`]
      : []),
  ]
}

/** A class may give a tag of the settings another value, under the same name. */
function twinErrors(twins: readonly Tag[]): readonly string[] {
  const inClass = twins.filter(({ source }) => source === 'spec.tags')
  const names = new Set(twins.map(({ given }) => azureTagName(given)))
  if (names.size === 1 && inClass.length < 2) return []
  const shown = twins.map(({ given, source }) =>
    source === 'spec.tags' ? quoted(given) : `${quoted(given)} of ${source}`,
  )
  return [
    `names one tag more than once: ${shown.join(', ')} (to Azure case does not count, and a slash becomes an underscore); keep one of them`,
  ]
}

/** A tag that a class and the settings have counts once, as the class'. */
function countErrors(byName: ReadonlyMap<string, readonly Tag[]>, own: number): readonly string[] {
  const tags = [...byName.values()].flatMap(([first]) => first ?? [])
  const excess = tags.length + own - mostTags
  if (excess <= 0) return []
  const counts = (['spec.tags', 'azure.additionalTags'] as const)
    .map((of) => [of, tags.filter(({ source }) => source === of).length] as const)
    .filter(([, count]) => count > 0)
    .map(([of, count]) => `${count} of ${of}`)
  const names = tags.slice(0, mostNames).map(({ given }) => quoted(given))
  const more = tags.length > mostNames ? ` and ${tags.length - mostNames} more` : ''
  return [
    `leads to ${tags.length + own} tags of a node (${counts.join(', ')} and ${own} of Joiner's), and Azure takes ${mostTags}; remove ${excess} of ${names.join(', ')}${more}`,
  ]
}
