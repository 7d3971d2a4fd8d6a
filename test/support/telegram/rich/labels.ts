/** What stands before an item of a list, as TDLib writes it; an empty type is that of a list without an order. */
export function labelOf(type: string, value: number): string {
  switch (type) {
    case "":
      return "•";
    case "a":
      return value > 0 ? `${letters(value)}.` : `${value}.`;
    case "A":
      return value > 0 ? `${letters(value).toUpperCase()}.` : `${value}.`;
    case "i":
      return isRoman(value) ? `${roman(value)}.` : `${value}.`;
    case "I":
      return isRoman(value) ? `${roman(value).toUpperCase()}.` : `${value}.`;
    default:
      return `${value}.`;
  }
}

function letters(value: number): string {
  const rest = value - 1;
  const last = String.fromCodePoint(97 + (rest % 26));
  return rest < 26 ? last : letters(Math.floor(rest / 26)) + last;
}

const NUMERALS = [
  ["m", 1000],
  ["cm", 900],
  ["d", 500],
  ["cd", 400],
  ["c", 100],
  ["xc", 90],
  ["l", 50],
  ["xl", 40],
  ["x", 10],
  ["ix", 9],
  ["v", 5],
  ["iv", 4],
  ["i", 1],
] as const;

function isRoman(value: number): boolean {
  return value > 0 && value < 4000;
}

function roman(value: number): string {
  const [sign, worth] = NUMERALS.find(([, size]) => size <= value) ?? ["", 0];
  return worth === 0 ? "" : sign + roman(value - worth);
}
