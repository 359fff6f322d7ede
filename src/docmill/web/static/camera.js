// The camera of this device as a picture that moves, and photographs of what it sees.

const PHOTO_MS = 4000;
const WANTED = { video: { facingMode: { ideal: "environment" }, width: { ideal: 4096 }, height: { ideal: 4096 } }, audio: false };

/** False in pages that are not opened over https, where browsers have no camera. */
export const isPossible = () => Boolean(navigator.mediaDevices?.getUserMedia);

/** True if the person has allowed the camera before. */
export async function isAllowed() {
  try {
    return isPossible() && (await navigator.permissions.query({ name: "camera" })).state === "granted";
  } catch {
    return false; // browsers that cannot tell
  }
}

/** Show what the camera sees. Fails if there is none, or the person does not allow it. */
export async function start(video) {
  video.srcObject = await navigator.mediaDevices.getUserMedia(WANTED);
  await video.play();
}

export function stop(video) {
  for (const track of video.srcObject?.getTracks() ?? []) track.stop();
  video.srcObject = null;
}

/** A photograph: of the camera's full resolution where the browser can take one, else what the video shows. */
export async function shoot(video) {
  const [track] = video.srcObject.getVideoTracks();
  if (window.ImageCapture) {
    try {
      const late = new Promise((_, reject) => setTimeout(reject, PHOTO_MS));
      const photo = await createImageBitmap(await Promise.race([new ImageCapture(track).takePhoto(), late]));
      if (photo.width * photo.height >= video.videoWidth * video.videoHeight) return photo;
    } catch {
      // Some cameras refuse photographs while they film.
    }
  }
  return createImageBitmap(video);
}
