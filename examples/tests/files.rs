//! The code of `docs/how-to/files.md`, compiled and called.

use convoke::testing::TestApp;
use convoke_calls::transfers;
use serde_json::json;

#[allow(unreachable_pub, reason = "the code matches the documentation")]
mod album {
    use std::time::Duration;

    use convoke::prelude::*;
    use convoke::{File, StorageId, Upload};

    /// A photo of an album.
    #[table(name = "photos", prefix = "photo")]
    #[index(by_owner(owner))]
    pub struct Photo {
        pub owner: String,
        #[file(max = "10MiB", types("image/png", "image/jpeg"))]
        pub image: File,
    }

    /// Returns the caller.
    fn owner(ctx: &impl Read) -> Result<String> {
        let identity = ctx.identity().ok_or_else(|| Error::unauthenticated("Sign in first"))?;
        Ok(identity.token_identifier())
    }

    /// Returns an address for an upload.
    #[mutation]
    pub fn begin_upload(ctx: &mut MutationCtx) -> Result<Upload> {
        owner(ctx)?;
        ctx.files().upload::<Photo>()
    }

    /// Arguments of [`add`].
    #[args]
    pub struct Add {
        pub upload: StorageId,
    }

    /// Adds an uploaded photo.
    #[mutation]
    pub fn add(ctx: &mut MutationCtx, args: Add) -> Result<Id<Photo>> {
        let owner = owner(ctx)?;
        let image = ctx.files().take(args.upload)?;
        Ok(ctx.db_mut().insert(Photo { owner, image })?)
    }

    /// Returns links to the caller's photos.
    #[query]
    pub fn links(ctx: &QueryCtx) -> Result<Vec<String>> {
        let photos = ctx.db().query(Photo::by_owner).eq(&owner(ctx)?).take(100)?;
        let link =
            |photo: &Doc<Photo>| ctx.files().link(&photo.image, Duration::from_mins(10)).named("photo.png").url();
        photos.iter().map(link).collect()
    }

    /// Arguments of [`copy`].
    #[args]
    pub struct Copy {
        pub photo: Id<Photo>,
    }

    /// Returns the image of a photo of the caller.
    #[query(internal)]
    pub fn image(ctx: &QueryCtx, args: Copy) -> Result<File> {
        let owner = owner(ctx)?;
        let photo = ctx.db().get(args.photo)?.filter(|photo| photo.owner == owner);
        Ok(photo.ok_or_else(|| Error::not_found("There is no such photo"))?.image)
    }

    /// Copies a photo.
    #[action(internal)]
    pub async fn copy(ctx: &ActionCtx, args: Copy) -> Result<Id<Photo>> {
        let image = ctx.run::<image>(args).await?;
        let reader = ctx.files().open(&image).await?;
        let upload = ctx.files().write(reader.into_stream()).await?;
        ctx.run::<add>(Add { upload }).await
    }
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

#[test]
fn uploaded_photo_is_linked_and_copied() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let address = ada.call("album/beginUpload", json!({})).value()["url"].as_str().unwrap().to_owned();
    let token = address.rsplit('/').next().unwrap();
    let id = app.block_on(async {
        let mut receiving = transfers::Receiving::begin(app.runtime(), token, None, None).await.unwrap();
        receiving.write(PNG.into()).await.unwrap();
        receiving.finish().await.unwrap()
    });
    let photo = ada.call("album/add", json!({ "upload": id })).value().clone();
    ada.run::<album::copy>(album::Copy { photo: serde_json::from_value(photo).unwrap() }).unwrap();

    let links = ada.call("album/links", json!({})).value().clone();

    let links = links.as_array().unwrap();
    assert_eq!(links.len(), 2);
    for link in links {
        let token = link.as_str().unwrap().rsplit('/').next().unwrap();
        let read = app.block_on(transfers::download(app.runtime(), token)).ok().unwrap();
        assert_eq!((read.name.as_deref(), read.bytes), (Some("photo.png"), PNG.len() as u64));
    }
}
