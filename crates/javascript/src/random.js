// Random bits: word `element % 4` of Philox's block, ten rounds. The device's own draws have the highest bit of the counter
// set; `ahead` is how many of them earlier runs made. Draws from a place in a stream of one's own are the same in every run.
let ahead = 0;
const high = (a, b) => {
  const low = (a & 65535) * (b & 65535), left = (a >>> 16) * (b & 65535) + (low >>> 16);
  const right = (a & 65535) * (b >>> 16) + (left & 65535);
  return (a >>> 16) * (b >>> 16) + (left >>> 16) + (right >>> 16);
};
const block = [0, 0, 0, 0], key = [-1, 0, 0, 0, 0, 0];
const philox = (a, b, c, d, x, y) => {
  for (let round = 0; round < 10; round++) {
    const [left, right] = [high(0xd2511f53, a), high(0xcd9e8d57, c)];
    const [first, third] = [right ^ b ^ x, left ^ d ^ y];
    [b, d] = [Math.imul(0xcd9e8d57, c) >>> 0, Math.imul(0xd2511f53, a) >>> 0];
    [a, c, x, y] = [first >>> 0, third >>> 0, (x + 0x9e3779b9) >>> 0, (y + 0xbb67ae85) >>> 0];
  }
  [block[0], block[1], block[2], block[3]] = [a, b, c, d];
};
const random = (x, y, low, up, stream, element) => {
  const n = element >>> 2;
  // Four elements share a block.
  if (key[0] !== n || key[1] !== stream || key[2] !== low || key[3] !== up || key[4] !== x || key[5] !== y) {
    [key[0], key[1], key[2], key[3], key[4], key[5]] = [n, stream, low, up, x, y];
    const counter = up >>> 31 === 1 ? low + ahead : low;
    philox(n, stream, counter >>> 0, (up + Math.floor(counter / 4294967296)) >>> 0, x, y);
  }
  return block[element & 3];
};
