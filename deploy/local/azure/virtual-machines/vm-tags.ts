import { ArmError } from '../server/arm-error.ts'

/** https://learn.microsoft.com/azure/azure-resource-manager/management/tag-resources */
const [mostTags, longestName, longestValue] = [50, 512, 256]
const reserved = /[<>%&\\?/]/

/** Errors: what Azure takes in no tags of a VM. The codes are assumptions, but for that of reserved characters. */
export function checkTags(tags: Readonly<Record<string, string>> | undefined): void {
  const names = Object.keys(tags ?? {})
  const refused = (code: string, message: string) => new ArmError(400, code, message)
  if (names.length > mostTags)
    throw refused('InvalidTagCount', `The resource has ${names.length} tags. It can have at most ${mostTags}.`)
  const bad = names.find((name) => reserved.test(name))
  if (bad !== undefined)
    throw refused(
      'InvalidTagNameCharacters',
      `The tag names '${bad}' have reserved characters '<,>,%,&,\\,?,/' or control characters.`,
    )
  const seen = new Set<string>()
  for (const name of names) {
    if (name.length > longestName || (tags?.[name]?.length ?? 0) > longestValue)
      throw refused(
        'InvalidTagLength',
        `The tag '${name.slice(0, 40)}' is too long: a name has at most ${longestName} characters, a value ${longestValue}.`,
      )
    if (seen.has(name.toLowerCase()))
      throw refused('DuplicateTagName', `The tag name '${name}' is there twice; names differ by more than their case.`)
    seen.add(name.toLowerCase())
  }
}
